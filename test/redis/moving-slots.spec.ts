import { describe, expect, it } from '@jest/globals';

import { tokenKey } from '../../libs/redis-lock/src/primitives/lua/fencing-token.js';
import { queueKeys } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import {
  ReadWriteLockService,
  type ReadWriteLock,
} from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { hashSlot } from '../../libs/redis-lock/src/ioredis/hash-slot.js';
import type { Application } from '../faults/support/application.js';
import { eventually } from '../support/eventually.js';
import { fairKeysOf } from '../support/redisson-fair.js';
import { useMovingSlots } from './use-moving-slots.js';

/** A slot can stay half way for minutes, as when an administrator moves it by hand. */
describe('while a slot of a Cluster is on its way', () => {
  const { group, process, beginToMove } = useMovingSlots();

  it('the locks of other slots have their queues', async () => {
    const [ours, others] = [await process(), await process()];
    const held = await ours.locks.acquire('moving');
    await beginToMove('moving');
    await expect(others.locks.acquire('moving', { waitTimeMs: 500 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    const other = await ours.locks.acquire('other');
    const waiting = others.locks.acquire('other', { waitTimeMs: 30_000 });
    const { queue } = queueKeys('other');
    const { admin } = await group().masterOf(hashSlot('other'));
    await eventually(async () => (await admin.exists(queue)) === 1);
    await other.release();
    await (await waiting).release();
    await held.release();
  });

  it('the processes take turns', async () => {
    // Sharded messages of the new node are not heard on the old one.
    const processes = [await process('plain'), await process('plain')];
    await beginToMove('moving');
    const sections = [0, 0];
    const total = () => (sections[0] ?? 0) + (sections[1] ?? 0);
    const caller = async (app: Application, i: number) => {
      while (total() < 1_200) {
        await app.locks.using('moving', () => (sections[i] = (sections[i] ?? 0) + 1), {
          waitTimeMs: 30_000,
        });
      }
    };
    await Promise.all(processes.flatMap((app, i) => [1, 2, 3, 4].map(() => caller(app, i))));
    expect(Math.min(...sections)).toBeGreaterThan(total() / 5);
  });

  it('a fair lock is taken, waited for and released', async () => {
    const [ours, others] = [await process(), await process()].map(
      ({ context }) => new FairLockService(context),
    ) as [FairLockService, FairLockService];
    const held = await ours.acquire('moving');
    await beginToMove('moving');
    const waiting = others.acquire('moving', { waitTimeMs: 30_000 });
    await held.renew();
    await held.release();
    const next = await waiting;
    // It is on the new node, and the one that has the slot still knows nothing of it.
    expect(await ours.tryAcquire('moving')).toBeNull();
    await ours.using('other', () => undefined);
    await next.release();
    await (await ours.acquire('moving', { waitTimeMs: 30_000 })).release();
  });

  it('who waited for a fair lock leaves the queue when the slot has arrived', async () => {
    const [ours, others, third] = [await process(), await process(), await process()].map(
      ({ context }) => new FairLockService(context),
    ) as [FairLockService, FairLockService, FairLockService];
    const held = await ours.acquire('moving');
    const waits = { waitTimeMs: 30_000 };
    let done = 0;
    const waiting = [1, 2, 3, 4].map(() => others.using('moving', () => (done += 1), waits));
    const { queue, timeouts, waiting: records } = fairKeysOf('moving');
    const { admin } = await group().masterOf(hashSlot('moving'));
    await eventually(async () => (await admin.llen(queue)) === 4);
    const finish = await beginToMove('moving', 'moving');
    await held.release();
    await Promise.all(waiting);
    expect(done).toBe(4);
    expect(await admin.llen(queue)).toBe(4);
    await finish();
    // These keys would exclude all others for as long as their process asks.
    const now = (await group().masterOf(hashSlot('moving'))).admin;
    await eventually(async () => (await now.exists(queue, timeouts, records)) === 0);
    await third.using('moving', () => undefined, waits);
  });

  it.each([
    ['lock', LockService, []],
    ['fair lock', FairLockService, []],
    ['lock whose token has gone ahead', LockService, [tokenKey('moving')]],
  ])('a fenced %s gets larger and larger tokens', async (_what, Service, ahead) => {
    const [ours, others] = [await process(), await process()].map(
      ({ context }) => new Service(context),
    ) as [LockService, LockService];
    const held = await ours.acquire('moving', { fenced: true });
    await beginToMove('moving', ...ahead);
    const waiting = others.acquire('moving', { fenced: true, waitTimeMs: 30_000 });
    await ours.using('other', () => undefined);
    await held.release();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
    await next.release();
    const last = await ours.acquire('moving', { fenced: true, waitTimeMs: 30_000 });
    expect(last.fencingToken).toBeGreaterThan(next.fencingToken);
    await last.release();
  });

  it('a read lock is renewed and released', async () => {
    const { context } = await process();
    const { read } = new ReadWriteLockService(context).get('moving');
    const [one, other] = [await read.acquire(), await read.acquire()];
    await beginToMove('moving');
    await one.renew(60_000);
    expect(one.remainingMs).toBeGreaterThan(30_000);
    await Promise.all([one.release(), other.release()]);
    for (const { admin } of group().masters) expect(await admin.keys('*moving*')).toEqual([]);
  });

  it.each(['the lock', 'its lease'])(
    'a reader of whom only %s has moved is not taken for dead',
    async (what) => {
      const [ours, others] = [await process(), await process()].map(({ context }) =>
        new ReadWriteLockService(context).get('moving'),
      ) as [ReadWriteLock, ReadWriteLock];
      const [one, other] = [await ours.read.acquire(), await ours.read.acquire()];
      const lease = `{moving}:${one.owner}:rwlock_timeout:1`;
      await beginToMove('moving', what === 'the lock' ? 'moving' : lease);
      await Promise.all([one.renew(60_000), other.renew(60_000)]);
      expect(await others.read.isLocked()).toBe(true);
      await one.release();
      expect(await others.write.tryAcquire()).toBeNull();
      await other.renew(90_000);
      expect(other.state).toBe('held');
      await other.release();
      await (await others.write.acquire({ waitTimeMs: 30_000 })).release();
      for (const { admin } of group().masters) expect(await admin.keys('*moving*')).toEqual([]);
    },
  );

  it.each([false, true])(
    'a read-write lock is taken, waited for and released (fenced: %p)',
    async (fenced) => {
      const processes = [await process('plain'), await process('plain')];
      const locks = processes.map(({ context }) => new ReadWriteLockService(context).get('moving'));
      const [ours, others] = locks as [ReadWriteLock, ReadWriteLock];
      const held = await ours.write.acquire({ fenced });
      await beginToMove('moving');
      const waits = { waitTimeMs: 30_000 };
      const tokens: number[] = [];
      const [readers, writers] = [new Set<number>(), new Set<number>()];
      let readTogether = 0;
      const writing = (lock: ReadWriteLock, i: number) =>
        lock.write.using(
          async (lease) => {
            expect([readers.size, writers.size]).toEqual([0, 0]);
            writers.add(i);
            if (lease.fencingToken !== undefined) tokens.push(lease.fencingToken);
            // The writer may read.
            await lock.read.using(() => undefined);
            await lock.write.using(() => undefined);
            writers.delete(i);
          },
          { ...waits, fenced },
        );
      const reading = (lock: ReadWriteLock, i: number) =>
        lock.read.using(async (lease) => {
          expect(writers.size).toBe(0);
          readers.add(i);
          readTogether = Math.max(readTogether, readers.size);
          await lease.renew();
          await lock.read.using(() => undefined);
          expect(writers.size).toBe(0);
          readers.delete(i);
        }, waits);
      const waiting = [0, 1, 2, 3].flatMap((i) => [
        ...[writing(ours, i), writing(others, i + 4)],
        ...[reading(ours, i), reading(others, i + 4)],
      ]);
      await processes[0]?.locks.using('other', () => undefined);
      await held.renew(60_000);
      await held.release();
      await Promise.all(waiting);
      expect(readTogether).toBeGreaterThan(1);
      expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
      expect(new Set(tokens).size).toBe(fenced ? 8 : 0);
      const left = await Promise.all(group().masters.map(({ admin }) => admin.keys('*moving*')));
      expect(left.flat().filter((key) => !key.includes('token'))).toEqual([]);
    },
  );
});
