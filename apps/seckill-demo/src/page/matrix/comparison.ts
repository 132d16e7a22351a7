import type { LoadResult } from '../../arena/load-result.js';
import type { PageState } from '../state.js';
import type { CellState } from '../state/cells.js';
import { matrixOf } from './model.js';
import type { Row } from './model.js';

/** The rush of every strategy with one number of processes. */
export interface Comparison {
  readonly processes: number;
  readonly rows: readonly ComparedRow[];
}

export interface ComparedRow extends Pick<Row, 'strategy'> {
  /** Undefined before its cell begins. */
  readonly cell: CellState | undefined;
  /** Undefined until its cell has ended. */
  readonly figures: LoadResult | undefined;
}

/** One for each number of processes, in ascending order. */
export function comparisonsOf({ run, cells }: Pick<PageState, 'run' | 'cells'>): Comparison[] {
  const { columns, rows } = matrixOf(run?.cells ?? []);
  return columns.flatMap((column, place) => {
    if (column.kind !== 'rush') return [];
    const compared = rows.flatMap(({ strategy, cells: own }): ComparedRow | [] => {
      const id = own[place]?.id;
      if (id === undefined) return [];
      const cell = cells[id];
      const figures = cell?.result?.kind === 'rush' ? cell.result : undefined;
      return { strategy, cell, figures };
    });
    return { processes: column.processes, rows: compared };
  });
}
