import { faultCell, partCell, rushCell } from '../../apps/seckill-demo/src/arena/cell.js';
import type { Cell, Outcome } from '../../apps/seckill-demo/src/arena/cell.js';
import { expectedOf } from '../../apps/seckill-demo/src/arena/expected-matrix.js';
import {
  FAULT_NAMES,
  PART_NAMES,
  STRATEGY_NAMES,
} from '../../apps/seckill-demo/src/options/names.mjs';
import type { StrategyName } from '../../apps/seckill-demo/src/strategies/strategy.js';

const rowOf = (strategy: StrategyName): readonly Cell[] => [
  ...[rushCell(strategy, 1), rushCell(strategy, 2)],
  ...FAULT_NAMES.map((fault) => faultCell(strategy, fault)),
];

/** Where the cells of an English page differ from what is published: `--check` compares with the same. */
export function differencesOfMatrix(
  cells: Readonly<Record<string, string>>,
  strategies: readonly StrategyName[] = STRATEGY_NAMES,
): string[] {
  const published = Object.fromEntries(
    strategies.flatMap(rowOf).map((cell) => [cell.id, inMatrix(expectedOf(cell) ?? 'none')]),
  );
  return differences(published, cells);
}

/** The same of the parts; the figures beside their outcomes are not published. */
export function differencesOfParts(
  parts: Readonly<Record<string, readonly [without: string, withLock: string]>>,
): string[] {
  const told = Object.entries(parts).flatMap(([part, [without, withLock]]) => [
    [`${part} without`, without],
    [`${part} with`, withLock],
  ]);
  const outcomes = told.map(([id = '', text = '']) => [id, text.replace(/: .*/, '')]);
  const published = PART_NAMES.flatMap((part) =>
    [false, true].flatMap((withLock) => {
      const outcome = expectedOf(partCell(part, withLock));
      const id = `${part} ${withLock ? 'with' : 'without'}`;
      return outcome === undefined ? [] : [[id, inWords(outcome)]];
    }),
  );
  const ids = published.map(([id]) => id);
  return differences(
    Object.fromEntries(published),
    Object.fromEntries(outcomes.filter(([id]) => ids.includes(id))),
  );
}

const RIGHT: readonly Outcome[] = ['exact', 'ok', 'refused'];

function inMatrix(outcome: Outcome): string {
  if (outcome === 'none') return '– not affected';
  return `${RIGHT.includes(outcome) ? '✓' : '✕'} ${inWords(outcome)}`;
}

function inWords(outcome: Outcome): string {
  return outcome.replaceAll('-', ' ');
}

function differences(
  published: Readonly<Record<string, string>>,
  seen: Readonly<Record<string, string>>,
): string[] {
  const ids = new Set([...Object.keys(published), ...Object.keys(seen)]);
  return [...ids]
    .filter((id) => published[id] !== seen[id])
    .map((id) => `${id}: ${seen[id] ?? 'missing'}, not ${published[id] ?? 'expected'}`);
}
