import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  type LockFamily,
  LeaseLostError,
  LockBackendError,
  LockConfigurationError,
  LockService,
  WithFairLock,
} from 'nestjs-redis-lock';
import { LockTesting, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { Gate, watch } from '../contract/suite.js';

const LEASE_MS = 5_000;
const nothing = () => undefined;
const SILENT = { log: nothing, error: nothing, warn: nothing };
const SETTINGS = { watchdogLeaseMs: LEASE_MS };

@Injectable()
class Reports {
  readonly made: string[] = [];
  readonly approved = new Gate();

  @WithFairLock('report')
  async make(name: string): Promise<void> {
    await this.approved.opened;
    this.made.push(name);
  }
}

const opened = new Set<{ close(): Promise<void> }>();
afterEach(async () => {
  const all = [...opened];
  opened.clear();
  await Promise.all(all.map((one) => one.close()));
});

/** An application, alone or beside another one. */
async function start(beside?: LockTesting) {
  const imports = [RedisLockTestingModule.forRoot({ ...SETTINGS, beside })];
  const app = await Test.createTestingModule({ imports, providers: [Reports] })
    .setLogger(SILENT)
    .compile();
  opened.add(await app.init());
  return { locks: app.get(LockService), reports: app.get(Reports), testing: app.get(LockTesting) };
}

async function startTwo() {
  const one = await start();
  const other = await start(one.testing);
  return { one, other, clock: one.testing.clock };
}

/** As two applications, without Nest. */
function openTwo() {
  const here = new LockTesting();
  const there = new LockTesting({ beside: here });
  const redLock = { nodes: ['redis://1', 'redis://2', 'redis://3'] };
  const settings = { ...SETTINGS, redLock };
  const [one, other] = [here.openLocks(settings), there.openLocks(settings)];
  opened.add(one).add(other);
  return { here, there, one, other, clock: here.clock };
}

describe('two applications beside each other', () => {
  it('hand a lock over', async () => {
    const { one, other, clock } = await startTwo();
    const lease = await one.locks.get('order').acquire();
    const waiting = watch(other.locks.get('order').acquire());
    await clock.advance(9_000);
    expect(waiting.state).toBe('pending');
    await lease.release();
    await expect(waiting.promise).resolves.toMatchObject({ name: 'order' });
  });

  it('take turns of a fair lock in the order of their calls', async () => {
    const { one, other, clock } = await startTwo();
    const order: string[] = [];
    const make = (reports: Reports, name: string) =>
      reports.make(name).then(() => order.push(name));
    const calls = [make(one.reports, 'a')];
    for (const [reports, name] of [
      [other.reports, 'b'],
      [one.reports, 'c'],
      [other.reports, 'd'],
    ] as const) {
      await clock.advance(10);
      calls.push(make(reports, name));
    }
    other.reports.approved.open();
    await clock.advance(1_000);
    expect(order).toEqual([]);
    one.reports.approved.open();
    await clock.advance(0);
    await Promise.all(calls);
    expect(order).toEqual(['a', 'b', 'c', 'd']);
  });

  it('see each other in the state of the locks', async () => {
    const { one, other } = await startTwo();
    await one.locks.get('order').acquire();
    expect(one.testing.held()).toMatchObject([{ name: 'order', by: 'application' }]);
    expect(other.testing.held()).toMatchObject([{ name: 'order', by: 'elsewhere' }]);
    expect(() => {
      other.testing.assertHeld('order');
    }).toThrow('held: lock "order" elsewhere');
  });

  it('go on when one of them crashes: its lease expires, and the other acquires', async () => {
    const { one, other, clock } = await startTwo();
    await one.locks.get('order').acquire();
    one.testing.crash();
    const waiting = watch(other.locks.get('order').acquire());
    await clock.advance(LEASE_MS - 1_000);
    expect(waiting.state).toBe('pending');
    await clock.advance(2_000);
    await expect(waiting.promise).resolves.toMatchObject({ name: 'order' });
  });

  it('pass over a waiter whose process has crashed', async () => {
    const { one, other, clock } = await startTwo();
    const lease = await other.locks.get('order').acquire();
    const crashed = watch(one.locks.get('order').acquire());
    await clock.advance(10);
    const waiting = watch(other.locks.get('order').acquire());
    one.testing.crash();
    await lease.release();
    await clock.advance(9_000);
    await expect(waiting.promise).resolves.toMatchObject({ name: 'order' });
    expect(crashed.state).not.toBe('resolved');
  });

  it('lose a lease to each other', async () => {
    const { one, other, clock } = await startTwo();
    const lease = await one.locks.get('order').acquire();
    const waiting = watch(other.locks.get('order').acquire());
    await clock.advance(10);
    other.testing.expireLease('order');
    expect(lease.signal.reason).toBeInstanceOf(LeaseLostError);
    await clock.advance(LEASE_MS);
    await expect(waiting.promise).resolves.toMatchObject({ name: 'order' });
    other.testing.assertHeld('order');
  });

  it('share one clock', () => {
    const beside = new LockTesting();
    expect(new LockTesting({ beside }).clock).toBe(beside.clock);
    expect(() => new LockTesting({ beside, clock: 'system' })).toThrow(LockConfigurationError);
  });

  it.each<[object, string]>([
    [{ beside: { get: () => new LockTesting() } }, 'beside must be a LockTesting, such as'],
    [{ beside: null }, 'beside must be a LockTesting, such as app.get(LockTesting), not null'],
    [{ besides: new LockTesting() }, 'unknown option "besides"; the options are clock, beside'],
    [null as never, 'the options must be a plain object, not null'],
  ])('are refused with %p', (options, message) => {
    const opening = () => new LockTesting(options);
    expect(opening).toThrow(LockConfigurationError);
    expect(opening).toThrow(message);
  });

  it('share nothing with an application that is not beside them', async () => {
    const [one, other] = [await start(), await start()];
    await one.locks.get('order').acquire();
    await expect(other.locks.get('order').tryAcquire()).resolves.not.toBeNull();
  });
});

describe('two families beside each other', () => {
  it.each(['lock', 'fair', 'red'] as const)('hand over a lock of the kind %s', async (kind) => {
    const { here, one, other } = openTwo();
    const lease = await one[kind].get('order').acquire();
    const waiting = watch(other[kind].get('order').acquire());
    await here.clock.advance(1_000);
    expect(waiting.state).toBe('pending');
    await lease.release();
    await here.clock.advance(1_000);
    await expect(waiting.promise).resolves.toMatchObject({ name: 'order' });
  });

  it('share permits and latches', async () => {
    const { one, other } = openTwo();
    await one.semaphore.get('seats').setPermits(1);
    await one.semaphore.get('seats').acquire();
    await expect(other.semaphore.get('seats').tryAcquire()).resolves.toBeNull();
    await one.latch.get('ready').trySetCount(1);
    const ready = other.latch.get('ready').wait();
    await one.latch.get('ready').countDown();
    await ready;
  });

  it('go on when one of them crashes, before it releases', async () => {
    const { here, one, other, clock } = openTwo();
    const lease = await one.lock.get('order').acquire();
    here.crash();
    const release = watch(lease.release());
    const waiting = watch(other.lock.get('order').acquire());
    await clock.advance(LEASE_MS + 1_000);
    await expect(waiting.promise).resolves.toMatchObject({ name: 'order' });
    expect(release.state).not.toBe('resolved');
  });

  it('lose a lease, whose key is gone for both', async () => {
    const { there, one, other, clock } = openTwo();
    const lease = await one.lock.get('order').acquire();
    there.expireLease('order');
    expect(lease.signal.aborted).toBe(true);
    await clock.advance(0);
    await expect(other.lock.get('order').tryAcquire()).resolves.not.toBeNull();
  });

  it.each(['lock', 'fair', 'red'] as const)(
    'go on without the answers and messages under way to the one that crashes: %s',
    async (kind) => {
      const { there, one, other, clock } = openTwo();
      const lease = await one[kind].get('a').acquire();
      const waiting = watch(other[kind].get('a').acquire({ waitTimeMs: 60_000 }));
      await clock.advance(200);
      const asking = watch(other[kind].get('b').acquire({ waitTimeMs: 60_000 }));
      const releasing = lease.release();
      there.crash();
      await releasing;
      const later = watch(other[kind].get('c').acquire({ waitTimeMs: 60_000 }));
      await clock.advance(LEASE_MS);
      const states = [waiting, asking, later].map(({ state }) => state);
      expect(states).toEqual(['pending', 'pending', 'pending']);
    },
  );

  it.each(['lock', 'fair', 'read', 'write', 'semaphore', 'red'] as const)(
    'expire what one of them held when it crashed: %s',
    async (kind) => {
      const { here, there, one, other, clock } = openTwo();
      const lockOf = ({ readWrite, ...family }: LockFamily) =>
        kind === 'read' || kind === 'write' ? readWrite.get('a')[kind] : family[kind].get('a');
      if (kind === 'semaphore') await one.semaphore.get('a').setPermits(1);
      await lockOf(other).acquire();
      there.crash();
      // A renewal is under way, and the answer never comes. Servers that are silent get nothing.
      if (kind !== 'red') await clock.advance(LEASE_MS / 2);
      here.expireLease('a');
      expect(here.held()).toEqual([]);
      const next = kind === 'read' ? one.readWrite.get('a').write : lockOf(one);
      await expect(next.tryAcquire()).resolves.not.toBeNull();
    },
  );

  it('expire a lease without a failure that one of them is to meet', async () => {
    const { here, there, one, other } = openTwo();
    await other.lock.get('a').acquire();
    there.failNext('release');
    here.expireLease('a');
    await expect(one.lock.get('a').tryAcquire()).resolves.not.toBeNull();
    const lease = await other.lock.get('b').acquire();
    await expect(lease.release()).rejects.toThrow(LockBackendError);
  });

  it('close soon after a crash, and do not open again', async () => {
    const { there, other, clock } = openTwo();
    await other.lock.get('a').acquire();
    there.crash();
    await other.close();
    expect(clock.now()).toBeLessThan(2_000);
    expect(() => there.openLocks()).toThrow(LockConfigurationError);
  });

  it('end their holders elsewhere with the last family, and are forgotten', async () => {
    const { here, there, one, other } = openTwo();
    const third = here.openLocks(SETTINGS);
    opened.add(third);
    const lease = await here.holdElsewhere('a');
    await one.close();
    expect(lease.state).toBe('held');
    await third.close();
    expect(lease.state).toBe('lost');
    await expect(other.lock.get('a').tryAcquire()).resolves.not.toBeNull();
    expect(there.backend.others).toEqual([]);
  });

  it('of one LockTesting share the server, too', async () => {
    const { here, one } = openTwo();
    const third = here.openLocks(SETTINGS);
    opened.add(third);
    const lease = await one.lock.get('order').acquire();
    const waiting = watch(third.lock.get('order').acquire());
    await lease.release();
    await expect(waiting.promise).resolves.toMatchObject({ name: 'order' });
  });
});
