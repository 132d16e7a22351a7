import type { CellResult, Outcome } from '../../arena/cell.js';
import type { Step } from '../../arena/step.js';

/** A cell that has begun. */
export interface CellState {
  readonly beganAt: number;
  readonly endedAt: number | undefined;
  readonly sold: number;
  readonly turnedAway: number;
  readonly outcome: Outcome | undefined;
  readonly expected: Outcome | undefined;
  readonly result: CellResult | undefined;
}

export type CellStates = Readonly<Record<string, CellState>>;

export function cellsAfter(cells: CellStates, step: Step): CellStates {
  switch (step.kind) {
    case 'cell-began':
      return { ...cells, [step.cell]: newCell(step.at) };
    case 'cell-ended': {
      const { at, outcome, expected, result } = step;
      const cell = cells[step.cell] ?? newCell(at);
      return { ...cells, [step.cell]: { ...cell, endedAt: at, outcome, expected, result } };
    }
    case 'answered': {
      const cell = cells[step.cell];
      if (cell === undefined) return cells;
      const counted =
        step.answer === 'sold' ? { sold: cell.sold + 1 } : { turnedAway: cell.turnedAway + 1 };
      return { ...cells, [step.cell]: { ...cell, ...counted } };
    }
    default:
      return cells;
  }
}

export function isRunning(cell: CellState | undefined): boolean {
  return cell !== undefined && cell.endedAt === undefined;
}

/** The ids of the cells in play, the latest last. */
export function runningCells(cells: CellStates): string[] {
  return Object.keys(cells).filter((id) => isRunning(cells[id]));
}

/** The outcome differs from the published one. */
export function isSurprise(cell: CellState): boolean {
  return (
    cell.outcome !== undefined && cell.expected !== undefined && cell.outcome !== cell.expected
  );
}

function newCell(beganAt: number): CellState {
  return {
    beganAt,
    endedAt: undefined,
    sold: 0,
    turnedAway: 0,
    outcome: undefined,
    expected: undefined,
    result: undefined,
  };
}
