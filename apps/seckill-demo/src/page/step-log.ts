import type { Step } from '../arena/step.js';

/** The cell of the shop that serves: it is in no matrix, and has no end. */
export const SALE = 'live';

/** The shop serves for hours; the page shows only its last steps. */
const SALE_KEPT = 4_000;

const OF_A_PROCESS: ReadonlyArray<Step['kind']> = ['process', 'lock', 'struck', 'waiters'];

/** The steps by cell, for replays. It only grows, until a new run begins. */
export class StepLog {
  readonly #steps = new Map<string, Step[]>();
  readonly #open = new Set<string>();

  add(step: Step): void {
    if (step.kind === 'run-began') this.clear();
    if (step.kind === 'cell-began') {
      this.#open.add(step.cell);
      this.#steps.delete(step.cell);
    }
    for (const cell of this.#cellsOf(step)) this.#append(cell, step);
    if (step.kind === 'cell-ended') this.#open.delete(step.cell);
  }

  of(cell: string): readonly Step[] {
    return this.#steps.get(cell) ?? [];
  }

  /** A step of a process may belong to every cell in play. */
  #cellsOf(step: Step): readonly string[] {
    if ('cell' in step && step.cell !== undefined) return [step.cell];
    // In the duel, the side of a waiter is unknown.
    if (step.kind === 'waiters' && this.#open.size > 1) return [];
    if (!OF_A_PROCESS.includes(step.kind)) return [];
    return this.#open.size === 0 ? [SALE] : [...this.#open];
  }

  #append(cell: string, step: Step): void {
    const steps = this.#steps.get(cell) ?? [];
    steps.push(step);
    if (cell === SALE && steps.length > 2 * SALE_KEPT) steps.splice(0, SALE_KEPT);
    this.#steps.set(cell, steps);
  }

  clear(): void {
    this.#steps.clear();
    this.#open.clear();
  }
}
