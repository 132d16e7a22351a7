import type { StrategyName } from '../strategies/strategy.js';
import type { FaultName, FaultOutcome, FaultResult } from './fault.js';
import type { LoadOutcome, LoadResult } from './load-result.js';
import type { PartName, PartOutcome, PartResult } from './parts/part.js';

/**
 * One scene of the arena, with one verdict. The duel is the rush of two strategies side by side.
 * You watch it; it is not measured.
 */
export type Cell = RushCell | FaultCell | PartCell;

export type RushCell = CellOf<'duel' | 'rush'> & {
  readonly strategy: StrategyName;
  readonly processes: number;
};
export type FaultCell = CellOf<'fault'> & {
  readonly strategy: StrategyName;
  readonly fault: FaultName;
};
export type PartCell = CellOf<'part'> & { readonly part: PartName; readonly withLock: boolean };

interface CellOf<Kind extends string> {
  readonly kind: Kind;
  /** Unique in a run, and equal in every run: `rush/naive/2`, `fault/fair/frozen`, `part/cart/with`. */
  readonly id: string;
}

export type Outcome = LoadOutcome | FaultOutcome | PartOutcome;

export type CellResult =
  | ({ readonly kind: 'duel' | 'rush' } & LoadResult)
  | ({ readonly kind: 'fault' } & FaultResult)
  | ({ readonly kind: 'part' } & PartResult);

/** A cell with another outcome than the published one. */
export interface Mismatch {
  readonly cell: Cell;
  readonly expected: Outcome;
  readonly outcome: Outcome;
}

export function duelCell(strategy: StrategyName, processes: number): RushCell {
  return { kind: 'duel', id: `duel/${strategy}`, strategy, processes };
}

export function rushCell(strategy: StrategyName, processes: number): RushCell {
  return { kind: 'rush', id: `rush/${strategy}/${processes}`, strategy, processes };
}

export function faultCell(strategy: StrategyName, fault: FaultName): FaultCell {
  return { kind: 'fault', id: `fault/${strategy}/${fault}`, strategy, fault };
}

export function partCell(part: PartName, withLock: boolean): PartCell {
  return { kind: 'part', id: `part/${part}/${withLock ? 'with' : 'without'}`, part, withLock };
}

/** The cell of the shop's steps, after the run. */
export const LIVE = 'live';

/** The cell that a result belongs to. */
export function cellOf(result: CellResult): Cell {
  switch (result.kind) {
    case 'duel':
      return duelCell(result.strategy, result.processes);
    case 'rush':
      return rushCell(result.strategy, result.processes);
    case 'fault':
      return faultCell(result.strategy, result.fault);
    case 'part':
      return partCell(result.part, result.withLock);
  }
}
