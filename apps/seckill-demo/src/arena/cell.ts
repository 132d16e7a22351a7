import type { StrategyName } from '../strategies/strategy.js';
import type { FaultName, FaultOutcome } from './fault.js';
import type { LoadOutcome, LoadResult } from './load-result.js';
import type { PartName, PartOutcome, PartResult } from './parts/part.js';

/**
 * One scene of the arena, with one verdict. The duel is the rush of two strategies side by side: it
 * is watched, and not measured.
 */
export type Cell =
  | (CellOf<'duel' | 'rush'> & { readonly strategy: StrategyName; readonly processes: number })
  | (CellOf<'fault'> & { readonly strategy: StrategyName; readonly fault: FaultName })
  | (CellOf<'part'> & { readonly part: PartName; readonly withLock: boolean });

interface CellOf<Kind extends string> {
  readonly kind: Kind;
  /** Unique in a run, and the same in every run: `rush/naive/2`, `fault/fair/frozen`, `part/cart/with`. */
  readonly id: string;
}

export type Outcome = LoadOutcome | FaultOutcome | PartOutcome;

export type CellResult =
  | ({ readonly kind: 'duel' | 'rush' } & LoadResult)
  | ({ readonly kind: 'fault'; readonly strategy: StrategyName; readonly fault: FaultName } & {
      readonly outcome: FaultOutcome;
    })
  | ({ readonly kind: 'part' } & PartResult);

export function duelCell(strategy: StrategyName, processes: number): Cell {
  return { kind: 'duel', id: `duel/${strategy}`, strategy, processes };
}

export function rushCell(strategy: StrategyName, processes: number): Cell {
  return { kind: 'rush', id: `rush/${strategy}/${processes}`, strategy, processes };
}

export function faultCell(strategy: StrategyName, fault: FaultName): Cell {
  return { kind: 'fault', id: `fault/${strategy}/${fault}`, strategy, fault };
}

export function partCell(part: PartName, withLock: boolean): Cell {
  return { kind: 'part', id: `part/${part}/${withLock ? 'with' : 'without'}`, part, withLock };
}
