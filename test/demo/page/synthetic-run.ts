import {
  duelCell,
  faultCell,
  partCell,
  rushCell,
} from '../../../apps/seckill-demo/src/arena/cell.js';
import type { Cell } from '../../../apps/seckill-demo/src/arena/cell.js';
import { EXPECTED, EXPECTED_PARTS } from '../../../apps/seckill-demo/src/arena/expected-matrix.js';
import { FAULT_NAMES } from '../../../apps/seckill-demo/src/arena/fault.js';
import type { RunBegan, Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { STRATEGY_NAMES } from '../../../apps/seckill-demo/src/strategies/strategy.js';
import { PARTS } from '../sample-results.js';
import { faultSteps } from './synthetic-fault.js';
import { rushSteps } from './synthetic-rush.js';
import { saleSteps } from './synthetic-sale.js';

export const PROCESSES = [4711, 4712] as const;
export const STOCK = 100;
export const BUYERS = 300;

/** A whole run as the arena would tell it, with invented times, but the published outcomes. */
export function syntheticRun(sources: RunBegan['sources'] = {}): Step[] {
  const cells = cellsOfARun();
  const steps: Step[] = [
    {
      kind: 'run-began',
      at: 0,
      stock: STOCK,
      buyers: BUYERS,
      processes: 2,
      cells: cells.map((cell) => ({ ...cell, expected: expectedOf(cell) })),
      sources,
      versions: { node: '20.20.2', redis: '7.0.15', postgres: '18.0' },
    },
    ...PROCESSES.map((process) => ({ kind: 'process', at: 1, process, state: 'started' }) as const),
  ];
  for (const cell of cells) {
    const from = (steps.at(-1)?.at ?? 0) + 60;
    steps.push(...stepsOf(cell, from));
  }
  const end = steps.at(-1)?.at ?? 0;
  steps.push({ kind: 'run-ended', at: end + 20, tookMs: end + 20 });
  steps.push(...saleSteps(end + 200));
  return steps;
}

function cellsOfARun(): Cell[] {
  return [
    duelCell('naive', 2),
    duelCell('redis-lock', 2),
    ...[1, 2].flatMap((processes) => STRATEGY_NAMES.map((name) => rushCell(name, processes))),
    ...STRATEGY_NAMES.flatMap((name) => FAULT_NAMES.map((fault) => faultCell(name, fault))),
    ...PARTS.map(({ part, withLock }) => partCell(part, withLock)),
  ];
}

function expectedOf(cell: Cell): RunBegan['cells'][number]['expected'] {
  switch (cell.kind) {
    case 'duel':
    case 'rush': {
      const { oneProcess, severalProcesses } = EXPECTED[cell.strategy];
      return cell.processes === 1 ? oneProcess : severalProcesses;
    }
    case 'fault':
      return EXPECTED[cell.strategy].faults[cell.fault];
    case 'part':
      return EXPECTED_PARTS[cell.part][cell.withLock ? 'withLock' : 'withoutLock'];
  }
}

function stepsOf(cell: Cell, from: number): Step[] {
  switch (cell.kind) {
    case 'duel':
    case 'rush':
      return rushSteps(cell, from, { stock: STOCK, buyers: BUYERS, expected: expectedOf(cell) });
    case 'fault':
      return faultSteps(cell, from);
    case 'part': {
      const result = PARTS.find(
        ({ part, withLock }) => part === cell.part && withLock === cell.withLock,
      );
      if (result === undefined) return [];
      const { id } = cell;
      const { outcome } = result;
      return [
        { kind: 'cell-began', at: from, cell: id },
        {
          kind: 'cell-ended',
          at: from + 400,
          cell: id,
          outcome,
          expected: expectedOf(cell),
          result: { kind: 'part', ...result },
        },
      ];
    }
  }
}
