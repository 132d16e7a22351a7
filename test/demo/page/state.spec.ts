import { describe, expect, it } from '@jest/globals';
import { initialState, reduce } from '../../../apps/seckill-demo/src/page/state.js';
import { isSurprise, runningCells } from '../../../apps/seckill-demo/src/page/state/cells.js';
import { orderOf, placeInLine } from '../../../apps/seckill-demo/src/page/state/sale.js';
import { pointsOf } from '../../../apps/seckill-demo/src/page/state/figures.js';
import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { loadResult } from '../sample-results.js';
import { syntheticRun } from './synthetic-run.js';

const after = (...steps: Step[]) => steps.reduce(reduce, initialState);

const began: Step = { kind: 'cell-began', at: 10, cell: 'rush/naive/1' };
const answered: Step = {
  kind: 'answered',
  at: 20,
  cell: 'rush/naive/1',
  buyer: 'buyer-1',
  process: 7,
  answer: 'sold',
  tookMs: 4,
};
const ended: Step = {
  kind: 'cell-ended',
  at: 30,
  cell: 'rush/naive/1',
  outcome: 'exact',
  expected: 'oversells',
  result: { kind: 'rush', ...loadResult({ strategy: 'naive' }) },
};

describe('a run', () => {
  const run = after(...syntheticRun());

  it('ends with every cell as it is published', () => {
    expect(run.run?.cells.every(({ id }) => run.cells[id]?.outcome !== undefined)).toBe(true);
    expect(Object.values(run.cells).some(isSurprise)).toBe(false);
    expect(runningCells(run.cells)).toEqual([]);
    expect(run.tookMs).toBeGreaterThan(0);
  });

  it('forgets the cells of the run before it, and no process', () => {
    const first = syntheticRun()[0];
    if (first === undefined) throw new Error('a run has a first step');
    const again = reduce(run, first);
    expect(again.cells).toEqual({});
    expect(again.processes).toEqual(run.processes);
  });
});

describe('a cell', () => {
  it('runs from its first step to its last, and counts answers meanwhile', () => {
    const running = after(began, answered, { ...answered, answer: 'sold-out' });
    expect(runningCells(running.cells)).toEqual(['rush/naive/1']);
    expect(running.cells['rush/naive/1']).toMatchObject({ sold: 1, turnedAway: 1 });
    expect(runningCells(after(began, answered, ended).cells)).toEqual([]);
  });

  it('surprises when its outcome is not the published one', () => {
    const cell = after(began, ended).cells['rush/naive/1'];
    expect(cell !== undefined && isSurprise(cell)).toBe(true);
  });

  it('starts from nothing when it is played again', () => {
    expect(after(began, answered, ended, began).cells['rush/naive/1']).toMatchObject({
      sold: 0,
      outcome: undefined,
    });
  });
});

describe('a process', () => {
  const started: Step = { kind: 'process', at: 1, process: 7, state: 'started' };
  const struck = (what: 'frozen' | 'thawed' | 'blocked' | 'unblocked' | 'killed'): Step => ({
    kind: 'struck',
    at: 2,
    process: 7,
    what,
  });
  const waiters: Step = { kind: 'waiters', at: 3, process: 7, waiting: 4 };

  it('is as the last harm has left it', () => {
    expect(after(started).processes[0]?.condition).toBe('up');
    expect(after(started, struck('frozen')).processes[0]?.condition).toBe('frozen');
    expect(after(started, struck('frozen'), struck('thawed')).processes[0]?.condition).toBe('up');
  });

  it('is blocked until that is over, whatever it has said before', () => {
    const blocked = { process: 7, condition: 'blocked', waiting: 4 };
    expect(after(started, struck('blocked'), waiters).processes).toEqual([blocked]);
    expect(after(started, struck('blocked'), waiters, struck('unblocked')).processes).toEqual([
      { ...blocked, condition: 'up' },
    ]);
  });

  it('has no waiter in it when it is dead', () => {
    expect(after(started, waiters, struck('killed')).processes[0]).toMatchObject({ waiting: 0 });
  });

  it('gives its place to the one that replaces it', () => {
    const ended: Step = { kind: 'process', at: 4, process: 7, state: 'ended' };
    const others = [8, 9].map((process): Step => ({
      kind: 'process',
      at: 1,
      process,
      state: 'started',
    }));
    const next: Step = { kind: 'process', at: 5, process: 10, state: 'started' };
    const { processes } = after(started, ...others, ended, next);
    expect(processes.map(({ process }) => process)).toEqual([10, 8, 9]);
  });
});

describe('the figures', () => {
  it('have a point for each second, also for one without an answer', () => {
    const { figures } = after(answered, { ...answered, at: 2_100, answer: 'busy', tookMs: 9 });
    expect(pointsOf(figures, 2_500, 60)).toEqual([
      { second: 0, ordersPerSecond: 1, p99Ms: 4 },
      { second: 1, ordersPerSecond: 0, p99Ms: null },
      { second: 2, ordersPerSecond: 0, p99Ms: 9 },
    ]);
  });
});

describe('the sale', () => {
  it('knows each order in its last state, the latest first', () => {
    const order = (id: string, state: string): Step => ({
      kind: 'order',
      at: 1,
      order: id,
      buyer: 'alice',
      state,
    });
    const { sale } = after(order('1', 'pending'), order('2', 'pending'), order('1', 'paid'));
    expect(sale.orders.map(({ order: id, state }) => [id, state])).toEqual([
      ['1', 'paid'],
      ['2', 'pending'],
    ]);
  });

  it('knows the place of an order in the line, and how many are in each state', () => {
    const order = (id: string, state: string): Step => ({
      kind: 'order',
      at: 1,
      order: id,
      buyer: `buyer-${id}`,
      state,
    });
    const queued = ['1', '2', '3', '4'].map((id) => order(id, 'queued'));
    const { sale } = after(...queued, order('1', 'reserved'));
    const places = ['2', '4', '1'].map((id) => {
      const own = orderOf(sale, `buyer-${id}`);
      return own && placeInLine(sale, own);
    });
    expect(places).toEqual([1, 3, 0]);
  });

  it('forgets its orders when a new one opens, and not that Redis is paused', () => {
    const opened: Step = {
      ...{ kind: 'sale-opened', at: 3, url: 'http://127.0.0.1:3000', product: '1', stock: 5 },
      forbidden: {},
    };
    const paused: Step = { kind: 'struck', at: 1, what: 'redis-paused' };
    const order: Step = { kind: 'order', at: 2, order: '1', buyer: 'alice', state: 'queued' };
    const { sale } = after(paused, order, opened);
    expect([sale.orders, sale.redis, sale.opened?.stock]).toEqual([[], 'paused', 5]);
  });

  it('tells whether Redis is paused', () => {
    const paused: Step = { kind: 'struck', at: 1, what: 'redis-paused' };
    expect(after(paused).sale.redis).toBe('paused');
    expect(after(paused, { ...paused, what: 'redis-resumed' }).sale.redis).toBe('up');
  });
});
