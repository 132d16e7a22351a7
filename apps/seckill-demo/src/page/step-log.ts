import type { Step } from '../arena/step.js';

/** The cell of the shop that serves: it is in no matrix, and has no end. */
export const SALE = 'live';

/** The shop serves for hours; only the last of its steps are looked at. */
const SALE_KEPT = 4_000;

const OF_A_PROCESS: ReadonlyArray<Step['kind']> = ['process', 'lock', 'struck', 'waiters'];

/** The steps by cell, to play a cell again. It only grows, until a run begins anew. */
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

  /** A step of a process may concern every cell that is being played. */
  #cellsOf(step: Step): readonly string[] {
    if ('cell' in step && step.cell !== undefined) return [step.cell];
    // In the duel nobody knows which side they wait on.
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
