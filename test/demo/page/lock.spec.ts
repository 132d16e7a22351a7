import { describe, expect, it } from '@jest/globals';
import type { LockReported, Step, Struck } from '../../../apps/seckill-demo/src/arena/step.js';
import { initialState, reduce } from '../../../apps/seckill-demo/src/page/state.js';

const started = [7, 8].map((process): Step => ({
  ...{ kind: 'process', at: 0, process, state: 'started' },
}));
const reported = (at: number, process: number, event: LockReported['event'], name = 'product_1') =>
  ({ kind: 'lock', at, cell: 'live', process, event, name }) as const;
const struck = (at: number, process: number | undefined, what: Struck['what'], cell = 'live') =>
  ({ kind: 'struck', at, cell, process, what }) as const;
const after = (...steps: Step[]) => [...started, ...steps].reduce(reduce, initialState).lock;

describe('the holder of the lock of the product', () => {
  it('is the process that acquired it last, until it releases it', () => {
    expect(after(reported(1, 7, 'acquired')).holder?.process).toBe(7);
    expect(after(reported(1, 7, 'acquired'), reported(2, 7, 'released')).holder).toBeUndefined();
    expect(after(reported(1, 7, 'acquired'), reported(2, 7, 'lost')).holder).toBeUndefined();
    expect(after(reported(1, 7, 'acquired'), reported(2, 8, 'acquired')).holder?.process).toBe(8);
  });

  it('is the latest one, though reports of an earlier one come later', () => {
    const late = [reported(5, 8, 'acquired'), reported(1, 7, 'acquired'), reported(4, 7, 'lost')];
    expect(after(...late).holder?.process).toBe(8);
    // A frozen process reports its loss after others have acquired the lock.
    const frozen = [reported(1, 7, 'acquired'), reported(5, 8, 'acquired'), reported(9, 7, 'lost')];
    expect(after(...frozen).holder?.process).toBe(8);
  });

  it('is no holder of another lock, and none of an earlier cell', () => {
    expect(after(reported(1, 7, 'acquired', 'payments')).holder).toBeUndefined();
    const began: Step = { kind: 'cell-began', at: 2, cell: 'rush/fair/2' };
    expect(after(reported(1, 7, 'acquired'), began).holder).toBeUndefined();
  });
});

describe('a process that is struck', () => {
  const held = reported(1_000, 8, 'acquired');

  it('held the lock, or held none', () => {
    const killed = after(held, struck(2_000, 8, 'killed')).strike;
    expect(killed).toMatchObject({ what: 'killed', number: 2, lock: 'product_1' });
    expect(after(held, struck(2_000, 7, 'frozen')).strike).toMatchObject({
      ...{ what: 'frozen', number: 1 },
      lock: undefined,
    });
    expect(after(held, struck(2_000, 8, 'killed', 'fault/fair/frozen')).strike).toBeUndefined();
  });

  it('leaves its lock to the process that acquires it first afterwards', () => {
    const killed = [held, struck(2_000, 8, 'killed')];
    const next = reported(8_000, 7, 'acquired');
    expect(after(...killed, next, reported(9_000, 7, 'acquired')).strike).toMatchObject({
      next: { number: 1, afterMs: 6_000 },
    });
    expect(after(...killed, reported(1_500, 7, 'acquired')).strike?.next).toBeUndefined();
  });

  it('is no story any more when a visitor gives another command', () => {
    const frozen = [held, struck(2_000, 8, 'frozen')];
    for (const what of ['cut', 'blocked'] as const) {
      expect(after(...frozen, struck(3_000, 7, what)).strike).toBeUndefined();
    }
    for (const what of ['redis-paused', 'redis-restarted', 'redis-failed-over'] as const) {
      expect(after(...frozen, struck(3_000, undefined, what)).strike).toBeUndefined();
    }
    const opened: Step = {
      ...{ kind: 'sale-opened', at: 3_000, url: '', product: '1', stock: 100, forbidden: {} },
    };
    expect(after(...frozen, opened).strike).toBeUndefined();
    expect(after(...frozen, struck(3_000, 7, 'joined')).strike).toMatchObject({ number: 2 });
  });

  it('held none if another process acquires the lock before a lease can end', () => {
    const soon = after(held, struck(2_000, 8, 'killed'), reported(2_100, 7, 'acquired')).strike;
    expect([soon?.lock, soon?.next]).toEqual([undefined, undefined]);
  });

  it('wakes up, and its late write is refused', () => {
    const frozen = [held, struck(2_000, 8, 'frozen'), reported(7_000, 7, 'acquired')];
    const woken = [...frozen, struck(12_000, 8, 'thawed')];
    expect(after(...frozen).strike).toMatchObject({ hasWoken: false, isRefused: false });
    expect(after(...woken, struck(12_000, 7, 'stale-refused')).strike?.isRefused).toBe(false);
    expect(after(...woken, struck(12_000, 8, 'stale-refused')).strike).toMatchObject({
      ...{ hasWoken: true, isRefused: true },
    });
  });
});
