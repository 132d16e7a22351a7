import type { Cell } from './cell.js';
import type { CellEnded, RunBegan, Step } from './step.js';
import type { Steps } from './steps.js';
import type { Texts } from './texts.js';

/** The longest time without a new line. */
const SAYS_EVERY_MS = 2_000;
const DRAWS_EVERY_MS = 200;
const BAR_WIDTH = 20;

/**
 * Prints the steps to stderr as they arrive. Each duellist gets a line with its verdict, and each
 * cell a line while it is in play. On a terminal, the latter is overwritten in place, with a bar.
 */
export class Terminal {
  #cells: ReadonlyMap<string, Cell> = new Map();
  #playing: { readonly title: string; readonly since: number } | undefined;
  #done = 0;
  #toldAt = 0;
  #isShown = false;

  constructor(
    private readonly say: Texts,
    private readonly out: NodeJS.WriteStream = process.stderr,
  ) {}

  /** Resolves when the run has ended. */
  async follow(steps: Steps): Promise<void> {
    const timer = setInterval(
      () => {
        this.#remind();
      },
      this.out.isTTY ? DRAWS_EVERY_MS : SAYS_EVERY_MS,
    );
    try {
      for await (const step of steps) {
        if (step.kind === 'run-ended') break;
        this.#tell(step);
      }
    } finally {
      clearInterval(timer);
      this.#clear();
    }
  }

  #tell(step: Step): void {
    if (step.kind === 'run-began') this.#begin(step);
    if (step.kind === 'cell-began') {
      const cell = this.#cells.get(step.cell);
      this.#playing = { title: cell ? this.say.cell(cell) : step.cell, since: Date.now() };
      this.#show();
    }
    if (step.kind === 'cell-ended') this.#end(step);
  }

  #begin({ cells }: RunBegan): void {
    this.#cells = new Map(cells.map((cell) => [cell.id, cell]));
  }

  #end({ result }: CellEnded): void {
    this.#done += 1;
    this.#playing = undefined;
    if (result.kind !== 'duel') return;
    this.#clear();
    this.out.write(`${this.say.duelVerdict(result)}\n`);
  }

  /** A step that takes long is printed again, with its time. */
  #remind(): void {
    if (this.#playing === undefined) return;
    if (this.out.isTTY || Date.now() - this.#toldAt >= SAYS_EVERY_MS) this.#show();
  }

  #show(): void {
    if (this.#playing === undefined) return;
    const { title, since } = this.#playing;
    const seconds = Math.floor((Date.now() - since) / 1_000);
    const total = this.#cells.size;
    const line = `[${this.#done + 1}/${total}] ${title}${seconds > 0 ? ` … ${seconds} s` : ''}`;
    this.#toldAt = Date.now();
    if (!this.out.isTTY) {
      this.out.write(`${line}\n`);
      return;
    }
    const full = Math.round((this.#done / total) * BAR_WIDTH);
    const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
    this.out.write(`\r\u001b[2K${`${bar} ${line}`.slice(0, Math.max(20, this.out.columns - 1))}`);
    this.#isShown = true;
  }

  #clear(): void {
    if (this.#isShown) this.out.write('\r\u001b[2K');
    this.#isShown = false;
  }
}
