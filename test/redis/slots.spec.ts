import { beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import {
  FairLockService,
  LatchService,
  LockService,
  ReadWriteLockService,
  SemaphoreService,
} from 'nestjs-redis-lock/core';
import { eventually, useLocks, useRealRedis } from '../support/set-up.js';

/** Alone, a server does not know where clients find it. */
const ADDRESS = ['--cluster-announce-ip', '127.0.0.1'];

/** A server with slots refuses a script whose keys are in several of them, or that reaches others. */
describe('where there are slots', () => {
  const redis = useRealRedis({ args: ['--cluster-enabled', 'yes', ...ADDRESS] });
  beforeAll(async () => {
    const slots = Array.from({ length: 16_384 }, (_, slot) => slot);
    await redis.admin.cluster('ADDSLOTS', ...slots);
    await eventually(async () => (await redis.admin.cluster('INFO')).includes('state:ok'));
  });
  const openAll = useLocks(redis, (context) => ({
    fairLocks: new FairLockService(context),
    latches: new LatchService(context),
    locks: new LockService(context),
    readWriteLocks: new ReadWriteLockService(context),
    semaphores: new SemaphoreService(context),
  }));

  describe.each([
    ['a', ''],
    ['a', 'shop:'],
    ['{tag}a', 'shop:'],
    ['a{tag}b', ''],
  ])('%p with keyPrefix %p', (name, keyPrefix) => {
    const open = () => openAll({ keyPrefix }).locks;

    it.each(['locks', 'fairLocks'] as const)(
      '%s are taken, waited for and nested',
      async (kind) => {
        const [ours, others] = [open()[kind], open()[kind]];
        const lease = await ours.acquire(name, { fenced: true });
        const waiting = others.using(name, () => others.using(name, ({ holdCount }) => holdCount));
        await eventually(async () => (await redis.wakeUpChannels()).length === 1);
        await lease.renew();
        await lease.release();
        expect(await waiting).toBe(2);
        expect(await ours.get(name).isLocked()).toBe(false);
      },
    );

    it('a read-write lock is written, read inside, and waited for by readers and writers', async () => {
      const { read, write } = open().readWriteLocks.get(name);
      const other = open().readWriteLocks.get(name);
      const waiting: Promise<unknown>[] = [];
      await write.using(
        async (lease) => {
          await read.using(async () => {
            waiting.push(
              other.read.using(() => undefined),
              other.write.using(() => undefined),
            );
            await eventually(async () => (await redis.wakeUpChannels()).length > 0);
            expect(await other.read.tryAcquire()).toBeNull();
          });
          await lease.renew();
        },
        { fenced: true },
      );
      await Promise.all(waiting);
      expect(await read.isLocked()).toBe(false);
    });

    it('permits, several at once, are taken, waited for and released', async () => {
      const [ours, others] = [open().semaphores.get(name), open().semaphores.get(name)];
      await ours.setPermits(3);
      const lease = await ours.acquire({ permits: 2 });
      const waiting = others.acquire({ permits: 3 });
      await eventually(async () => (await redis.wakeUpChannels()).length === 1);
      await lease.renew();
      await lease.release();
      await ours.release((await waiting).permitIds);
      expect(await others.availablePermits()).toBe(3);
    });

    it('a latch and a counter are set, waited for and counted', async () => {
      const { latches, semaphores } = open();
      const latch = latches.get(name);
      await latch.trySetCount(1);
      const opened = open().latches.get(name).wait();
      expect(await latch.countDown()).toBe(0);
      expect(await opened).toBe(true);
      const counting = semaphores.counting(name);
      await counting.trySetPermits(1);
      await counting.acquire();
      await counting.release();
      expect(await counting.drainPermits()).toBe(1);
    });
  });

  it('several names are taken as one, also by two who name them the other way round', async () => {
    const nodes = [{ host: '127.0.0.1', port: redis.port }];
    const [one, other] = [new Cluster(nodes), new Cluster(nodes)];
    try {
      const ours = openAll({ connection: one }).locks.locks.multi(['a', 'b', 'c']);
      const others = openAll({ connection: other }).locks.locks.multi(['c', 'a']);
      await ours.using(async () => {
        expect((await redis.admin.keys('?')).sort()).toEqual(['a', 'b', 'c']);
        expect(await others.tryAcquire()).toBeNull();
      });
      let inside = 0;
      const alone = async () => {
        inside += 1;
        expect(await redis.admin.exists('a')).toBe(1);
        expect(inside).toBe(1);
        inside -= 1;
      };
      await Promise.all([ours, others, ours, others].map((lock) => lock.using(alone)));
      expect(await redis.admin.keys('?')).toEqual([]);
    } finally {
      for (const connection of [one, other]) connection.disconnect();
    }
  });

  it('a Cluster client that reads from replicas takes locks from the master (d.9/156)', async () => {
    const nodes = [{ host: '127.0.0.1', port: redis.port }];
    const connection = new Cluster(nodes, { scaleReads: 'slave' });
    try {
      const { locks } = openAll({ connection }).locks;
      await locks.using('a', () => locks.using('a', () => undefined, { fenced: true }));
    } finally {
      connection.disconnect();
    }
  });
});
