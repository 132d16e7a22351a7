/** One line on stderr that says what is going on; on a terminal it is written over and over. */
export class Progress {
  #done = 0;
  #isShown = false;

  constructor(
    private readonly total: number,
    private readonly out: NodeJS.WriteStream = process.stderr,
  ) {}

  step(what: string): void {
    this.#done += 1;
    const line = `[${this.#done}/${this.total}] ${what}`;
    if (!this.out.isTTY) {
      this.out.write(`${line}\n`);
      return;
    }
    this.out.write(`\r\u001b[2K${line.slice(0, Math.max(20, this.out.columns - 1))}`);
    this.#isShown = true;
  }

  clear(): void {
    if (this.#isShown) this.out.write('\r\u001b[2K');
    this.#isShown = false;
  }
}
