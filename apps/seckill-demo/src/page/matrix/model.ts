import type { Cell } from '../../arena/cell.js';
import { FAULT_NAMES } from '../../arena/fault.js';
import type { FaultName } from '../../arena/fault.js';
import type { RunBegan } from '../../arena/step.js';
import type { StrategyName } from '../../strategies/strategy.js';

export type Column =
  | { readonly kind: 'rush'; readonly processes: number }
  | { readonly kind: 'fault'; readonly fault: FaultName };

export type MatrixCell = RunBegan['cells'][number];

export interface Row {
  readonly strategy: StrategyName;
  /** One for each column; undefined if that cell is not played. */
  readonly cells: ReadonlyArray<MatrixCell | undefined>;
}

export interface Matrix {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** Strategies in rows, the rush and the faults in columns, in the order of the run. */
export function matrixOf(cells: RunBegan['cells']): Matrix {
  const columns = columnsOf(cells);
  const strategies = [...new Set(cells.flatMap((cell) => (isInMatrix(cell) ? cell.strategy : [])))];
  const rows = strategies.map((strategy) => ({
    strategy,
    cells: columns.map((column) => cells.find((cell) => isAt(cell, strategy, column))),
  }));
  return { columns, rows };
}

function columnsOf(cells: RunBegan['cells']): Column[] {
  const crowds = cells.flatMap((cell) => (cell.kind === 'rush' ? cell.processes : []));
  const played = cells.flatMap((cell) => (cell.kind === 'fault' ? cell.fault : []));
  const rushes = [...new Set(crowds)].sort((a, b) => a - b);
  const faults = FAULT_NAMES.filter((fault) => played.includes(fault));
  return [
    ...rushes.map((processes) => ({ kind: 'rush', processes }) as const),
    ...faults.map((fault) => ({ kind: 'fault', fault }) as const),
  ];
}

function isInMatrix(cell: Cell): cell is Cell & { kind: 'rush' | 'fault' } {
  return cell.kind === 'rush' || cell.kind === 'fault';
}

function isAt(cell: Cell, strategy: StrategyName, column: Column): boolean {
  if (cell.kind === 'rush' && column.kind === 'rush') {
    return cell.strategy === strategy && cell.processes === column.processes;
  }
  if (cell.kind === 'fault' && column.kind === 'fault') {
    return cell.strategy === strategy && cell.fault === column.fault;
  }
  return false;
}
