type Step = () => Promise<void> | void;

/** The steps to undo at the end, last step first. They run once, even after several calls. */
export class Closing {
  readonly #steps: Step[] = [];
  #run: Promise<void> | undefined;

  get hasBegun(): boolean {
    return this.#run !== undefined;
  }

  add(step: Step): void {
    this.#steps.push(step);
  }

  run(): Promise<void> {
    this.#run ??= this.#undo();
    return this.#run;
  }

  /** The failure of a step must not prevent the undo of earlier steps. */
  async #undo(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        process.stderr.write(`${(error as Error).message}\n`);
      }
    }
  }
}
