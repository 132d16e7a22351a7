import type { RunBegan, Step } from '../arena/step.js';
import { cellsAfter } from './state/cells.js';
import type { CellStates } from './state/cells.js';
import { figuresAfter, noFigures } from './state/figures.js';
import type { Figures } from './state/figures.js';
import { lockAfter, noLock } from './state/lock.js';
import type { LockState } from './state/lock.js';
import { processesAfter } from './state/processes.js';
import type { ProcessState } from './state/processes.js';
import { noSale, saleAfter } from './state/sale.js';
import type { SaleState } from './state/sale.js';

/** The whole state of the page, without the steps of each cell, which the log keeps. */
export interface PageState {
  /** By the clock of the steps. */
  readonly now: number;
  readonly run: RunBegan | undefined;
  /** The length of the run, after its end. */
  readonly tookMs: number | undefined;
  readonly cells: CellStates;
  /** In the order of their start. */
  readonly processes: readonly ProcessState[];
  readonly lock: LockState;
  readonly figures: Figures;
  readonly sale: SaleState;
}

export const initialState: PageState = {
  now: 0,
  run: undefined,
  tookMs: undefined,
  cells: {},
  processes: [],
  lock: noLock,
  figures: noFigures,
  sale: noSale,
};

/** A run that begins clears the page: the arena has restarted. */
export function reduce(state: PageState, step: Step): PageState {
  if (step.kind === 'run-began') {
    return { ...initialState, processes: state.processes, now: step.at, run: step };
  }
  return {
    now: Math.max(state.now, step.at),
    run: state.run,
    tookMs: step.kind === 'run-ended' ? step.tookMs : state.tookMs,
    cells: cellsAfter(state.cells, step),
    processes: processesAfter(state.processes, step),
    lock: lockAfter(state.lock, step, state.processes),
    figures: figuresAfter(state.figures, step),
    sale: saleAfter(state.sale, step),
  };
}
