import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setTimeout as elapse } from 'node:timers/promises';
import { faultCell } from '../../apps/seckill-demo/src/arena/cell.js';
import { Reporter } from '../../apps/seckill-demo/src/arena/reporter.js';
import type { KeySeen } from '../../apps/seckill-demo/src/arena/step.js';
import { Steps } from '../../apps/seckill-demo/src/arena/steps.js';
import { eventually, useRealRedis } from '../support/set-up.js';

const LOCK = 'shop:product_1';

describe('the lock of the shop that serves', () => {
  const redis = useRealRedis();
  let steps: Steps;
  let reporter: Reporter;
  let stopped: AbortController;
  beforeEach(() => {
    steps = new Steps();
    stopped = new AbortController();
    const server = { client: redis.admin, keyPrefix: 'shop:' };
    reporter = new Reporter(steps, server, new Map([['1', 'live']]));
    reporter.watch('live', stopped.signal);
  });
  afterEach(() => {
    stopped.abort();
    jest.restoreAllMocks();
  });

  async function seen(): Promise<KeySeen[]> {
    const ended = new AbortController();
    const batches = steps.batches(0, ended.signal);
    const batch = await batches.next();
    ended.abort();
    await batches.return(undefined);
    const all = batch.done === true ? [] : batch.value.steps;
    return all.filter((step) => step.kind === 'key');
  }
  const lastSeen = async () => (await seen()).at(-1);
  /** As if so much time had gone by since the last order. */
  const later = (ms: number) => {
    const now = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(now + ms);
  };
  const isLookedAt = async () => {
    const look = jest.spyOn(redis.admin, 'multi').mockClear();
    await eventually(() => expect(look).toHaveBeenCalled());
  };
  /** In the time of three looks; the one that is on its way may end before. */
  const isLeftAlone = async () => {
    await elapse(40);
    // Answered after a look that is on its way, and after the one which follows it.
    for (let i = 0; i < 3; i += 1) await redis.admin.ping();
    const look = jest.spyOn(redis.admin, 'multi').mockClear();
    await elapse(120);
    expect(look).not.toHaveBeenCalled();
  };

  it('is told of when it is taken, and when it is free again', async () => {
    await eventually(async () => expect(await seen()).toHaveLength(1));
    expect(await lastSeen()).toMatchObject({ kind: 'key', cell: 'live', name: LOCK, queue: [] });
    await redis.admin.hset(LOCK, 'owner', '1');
    await eventually(async () =>
      expect(await lastSeen()).toMatchObject({ fields: { owner: '1' } }),
    );
    await redis.admin.del(LOCK);
    await eventually(async () => expect((await lastSeen())?.fields).toBeUndefined());
    expect(await seen()).toHaveLength(3);
  });

  it('is not looked at while no buyer comes, until an order arrives', async () => {
    await eventually(async () => expect(await seen()).toHaveLength(1));
    later(2_000);
    await isLeftAlone();
    await redis.admin.hset(LOCK, 'owner', '1');
    const order = { productId: '1', buyer: 'alice' };
    reporter.onNotes(4711, [{ at: Date.now(), kind: 'passed', point: 'lock-set', ...order }]);
    await eventually(async () =>
      expect(await lastSeen()).toMatchObject({ fields: { owner: '1' } }),
    );
    // It is held: its holder may be frozen, and report nothing.
    later(60_000);
    await isLookedAt();
  });

  it('is looked at again when a process tells of it', async () => {
    later(2_000);
    await isLeftAlone();
    reporter.onNotes(4711, [{ at: Date.now(), kind: 'lock', event: 'acquired', name: LOCK }]);
    await isLookedAt();
  });

  it('is looked at once more at the end of a cell', async () => {
    const cell = faultCell('setnx', 'frozen');
    const lock = `shop:product_${reporter.newProduct(cell)}`;
    await reporter.watching(cell, async () => {
      await redis.admin.set(lock, 'me');
      await eventually(async () => expect(await lastSeen()).toMatchObject({ name: lock }));
      await redis.admin.del(lock);
    });
    expect(await lastSeen()).toMatchObject({ cell: cell.id, name: lock, queue: [] });
    expect((await lastSeen())?.fields).toBeUndefined();
  });

  it('is not looked at any more when the shop closes', async () => {
    stopped.abort();
    reporter.onNotes(4711, [{ at: Date.now(), kind: 'lock', event: 'acquired', name: LOCK }]);
    await isLeftAlone();
  });
});
