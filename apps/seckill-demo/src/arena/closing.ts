type Step = () => Promise<void> | void;

/** The steps to undo at the end, last first. They run once, also after several calls. */
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

  /** A step that fails must not keep the earlier ones from being undone. */
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
