import { describe, expect, it } from '@jest/globals';
import { LockStateError } from 'nestjs-redis-lock';
import { PROMPT_MS } from '../contract/suite.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';
import { useGolden } from '../wire/golden.js';
import { useReadWriteLocks } from './sides.js';

const LEASE_LOST = { code: 'LEASE_LOST' };
const CHANNEL = 'redisson_rwlock:{a}';
const READER_OF_A = '<A that reads>';

const redis = useRedis();
const golden = useGolden(redis, 'read-write-lock', { ours: /^nestjs_rwlock_/ });
const { open } = useReadWriteLocks(redis);
const lockOf = () => open().locks.get('a');
/** A client whose waiters hear of a release by its message. */
const deafLockOf = () => open({ pollIntervalMs: 60_000, waitTimeMs: 60_000 }).locks.get('a');
const listeners = (expected: number) =>
  eventually(async () => {
    const [, count] = await redis.admin.pubsub('NUMSUB', CHANNEL);
    return Number(count) === expected;
  });

/** A writer that reads has another owner for that with us; in Java both are the thread. */
const bothOfA = {
  keys: {
    a: { hash: { '<A>:write': '1', [READER_OF_A]: '1', mode: 'write' }, ttl: 30_000 },
    [`{a}:${READER_OF_A}:rwlock_timeout:1`]: { string: '1', ttl: 30_000 },
  },
};

describe('what ReadWriteLockService leaves in Redis is what RReadWriteLock leaves there', () => {
  it('when two read', async () => {
    const [{ read, write }, other] = [lockOf(), lockOf()];
    const trace = await golden.scenario('two readers');
    const held = await read.using(async (lease) => {
      trace.owner('A', lease.owner);
      await trace.sees('A: readLock.lock()');
      const b = await other.read.acquire();
      trace.owner('B', b.owner);
      await trace.sees('B: readLock.lock()');
      await read.using(async () => {
        await trace.sees('A: readLock.lock()');
        expect(await other.write.tryAcquire()).toBeNull();
        await trace.sees('C: writeLock.tryLock()');
        await expect(write.tryAcquire()).rejects.toThrow(LockStateError);
        await trace.sees('A: writeLock.tryLock()');
      });
      await trace.sees('A: readLock.unlock()');
      return b;
    });
    await trace.sees('A: readLock.unlock()');
    await held.release();
    await trace.sees('B: readLock.unlock()');
  });

  it('when readers have leases of their own', async () => {
    const trace = await golden.scenario('readers with leases of their own');
    const a = await lockOf().read.acquire({ leaseTimeMs: 60_000 });
    trace.owner('A', a.owner);
    await trace.sees('A: readLock.tryLock(0, 60000)');
    const b = await lockOf().read.acquire({ leaseTimeMs: 20_000 });
    trace.owner('B', b.owner);
    await trace.sees('B: readLock.tryLock(0, 20000)');
    await a.release();
    await trace.sees('A: readLock.unlock()');
    await b.release();
    await trace.sees('B: readLock.unlock()');
  });

  it('when a reader has died', async () => {
    const trace = await golden.scenario('a dead reader');
    const a = await lockOf().read.acquire({ leaseTimeMs: 60_000 });
    trace.owner('A', a.owner);
    await trace.sees('A: readLock.tryLock(0, 60000)');
    const b = await lockOf().read.acquire({ leaseTimeMs: 20_000 });
    trace.owner('B', b.owner);
    await trace.sees('B: readLock.tryLock(0, 20000)');
    await redis.admin.del(`{a}:${b.owner}:rwlock_timeout:1`);
    await trace.sees('time ends {a}:<B>:rwlock_timeout:1');
    await a.release();
    await trace.sees('A: readLock.unlock()');
    await expect(b.release()).rejects.toMatchObject(LEASE_LOST);
  });

  it('when somebody writes, but a nested write adds no lease to what is left', async () => {
    const [{ write }, other] = [lockOf(), lockOf()];
    const trace = await golden.scenario('a writer');
    await write.using(async ({ owner }) => {
      trace.owner('A', owner);
      await trace.sees('A: writeLock.lock()');
      const keys = { a: { hash: { '<A>:write': '2', mode: 'write' }, ttl: 30_000 } };
      await write.using(() => trace.sees('A: writeLock.lock()', { keys }));
      expect(await other.write.tryAcquire()).toBeNull();
      expect(await other.read.tryAcquire()).toBeNull();
      await trace.sees('A: writeLock.unlock()');
    });
    await trace.sees('A: writeLock.unlock()');
    // Java announces also a release that it refuses.
    await trace.sees('A: writeLock.unlock()', { messages: [] });
  });

  it('when a writer reads and goes on as a reader, of which ours tells the readers that wait', async () => {
    const [{ read, write }, other] = [lockOf(), lockOf()];
    const trace = await golden.scenario('a writer reads, and goes on as a reader');
    const reading = await write.using(async ({ owner }) => {
      trace.owner('A', owner);
      await trace.sees('A: writeLock.lock()');
      const lease = await read.acquire();
      trace.owner('A that reads', lease.owner);
      await trace.sees('A: readLock.lock()', bothOfA);
      expect(await other.read.tryAcquire()).toBeNull();
      await trace.sees('B: readLock.tryLock()', bothOfA);
      return lease;
    });
    trace.owner('A', reading.owner);
    await trace.sees('A: writeLock.unlock()', { messages: [[CHANNEL, '1']] });
    const b = await other.read.acquire();
    trace.owner('B', b.owner);
    await trace.sees('B: readLock.tryLock()');
    await reading.release();
    await trace.sees('A: readLock.unlock()');
    await b.release();
    await trace.sees('B: readLock.unlock()');
  });

  it('when a writer reads and goes on as a writer', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('a writer reads, and goes on as a writer');
    await write.using(async ({ owner }) => {
      trace.owner('A', owner);
      await trace.sees('A: writeLock.lock()');
      await read.using(async (lease) => {
        trace.owner('A that reads', lease.owner);
        await trace.sees('A: readLock.lock()', bothOfA);
      });
      await trace.sees('A: readLock.unlock()');
    });
    await trace.sees('A: writeLock.unlock()');
  });

  it('when it is waited for', async () => {
    const [{ write }, b, c] = [lockOf(), deafLockOf(), deafLockOf()];
    const trace = await golden.scenario('waited for');
    const writing = await write.acquire();
    trace.owner('A', writing.owner);
    await trace.sees('A: writeLock.lock()');
    const waitingToRead = b.read.acquire();
    await listeners(1);
    await trace.sees('B: readLock.lock() waits');
    await writing.release();
    trace.passes('A: writeLock.unlock()');
    const reading = await waitingToRead;
    trace.owner('B', reading.owner);
    await trace.sees('B: readLock.lock() goes on');
    await listeners(0);
    const waitingToWrite = c.write.acquire();
    await listeners(1);
    await trace.sees('C: writeLock.lock() waits');
    await reading.release();
    trace.passes('B: readLock.unlock()');
    const last = await waitingToWrite;
    trace.owner('C', last.owner);
    await trace.sees('C: writeLock.lock() goes on');
    await last.release();
    await trace.sees('C: writeLock.unlock()');
  });

  it('when it is ended by force, but ours leaves no lease of a reader behind', async () => {
    const [holder, other] = [lockOf(), lockOf()];
    const trace = await golden.scenario('ended by force');
    const reading = await holder.read.acquire();
    trace.owner('A', reading.owner);
    await trace.sees('A: readLock.lock()');
    expect(await other.write.forceRelease()).toBe(false);
    await trace.sees('C: writeLock.forceUnlock()');
    expect(await other.read.forceRelease()).toBe(true);
    await trace.sees('C: readLock.forceUnlock()', { keys: {} });
    await expect(reading.release()).rejects.toMatchObject(LEASE_LOST);
    const writing = await holder.write.acquire();
    trace.owner('A', writing.owner);
    const keys = { a: { hash: { '<A>:write': '1', mode: 'write' }, ttl: 30_000 } };
    await trace.sees('A: writeLock.lock()', { keys });
    expect(await other.read.forceRelease()).toBe(false);
    await trace.sees('C: readLock.forceUnlock()', { keys });
    expect(await other.write.forceRelease()).toBe(true);
    await trace.sees('C: writeLock.forceUnlock()', { keys: {} });
    await expect(writing.release()).rejects.toMatchObject(LEASE_LOST);
  });
});

describe('what RReadWriteLock leaves in Redis is understood by ReadWriteLockService', () => {
  it('when two read', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('two readers');
    const steps = [
      ['A: readLock.lock()', 'B: readLock.lock()', 'A: readLock.lock()'],
      ['A: readLock.unlock()', 'A: readLock.unlock()'],
    ].flat();
    for (const step of steps) {
      await trace.put(step);
      expect(await write.tryAcquire()).toBeNull();
      expect(await read.isLocked()).toBe(true);
      await read.using(() => undefined);
    }
    await trace.put('B: readLock.unlock()');
    expect((await write.tryAcquire())?.holdCount).toBe(1);
  });

  it('when readers have leases of their own, which ours leaves as they are', async () => {
    const { read } = lockOf();
    const trace = await golden.scenario('readers with leases of their own');
    await trace.put('A: readLock.tryLock(0, 60000)');
    await (await read.acquire({ leaseTimeMs: 10_000 })).release();
    expect(await read.remainingTimeMs()).toBeGreaterThan(30_000);
    const b = await read.acquire({ leaseTimeMs: 20_000 });
    trace.owner('B', b.owner);
    await trace.sees('B: readLock.tryLock(0, 20000)');
    await trace.put('A: readLock.unlock()');
    await b.release();
    await trace.sees('B: readLock.unlock()');
  });

  it('when a reader has died', async () => {
    const { write } = lockOf();
    const trace = await golden.scenario('a dead reader');
    await trace.put('A: readLock.tryLock(0, 60000)');
    await trace.put('B: readLock.tryLock(0, 20000)');
    await trace.put('time ends {a}:<B>:rwlock_timeout:1');
    expect(await write.tryAcquire()).toBeNull();
    await trace.put('A: readLock.unlock()');
    expect((await write.tryAcquire())?.holdCount).toBe(1);
  });

  it('when somebody writes', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('a writer');
    for (const step of ['A: writeLock.lock()', 'A: writeLock.lock()', 'A: writeLock.unlock()']) {
      await trace.put(step);
      expect(await write.tryAcquire()).toBeNull();
      expect(await read.tryAcquire()).toBeNull();
      expect(await write.isLocked()).toBe(true);
      expect(await read.isLocked()).toBe(false);
    }
    await trace.put('A: writeLock.unlock()');
    await write.using(() => undefined);
    await trace.put('A: writeLock.unlock()');
  });

  it('when a writer reads and goes on as a reader', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('a writer reads, and goes on as a reader');
    for (const step of ['A: writeLock.lock()', 'A: readLock.lock()']) {
      await trace.put(step);
      expect(await read.tryAcquire()).toBeNull();
      expect(await write.tryAcquire()).toBeNull();
    }
    await trace.put('A: writeLock.unlock()');
    expect(await write.tryAcquire()).toBeNull();
    const b = await read.acquire();
    trace.owner('B', b.owner);
    await trace.sees('B: readLock.tryLock()');
    await trace.put('A: readLock.unlock()');
    await b.release();
    await trace.sees('B: readLock.unlock()');
  });

  it('when a writer reads and goes on as a writer', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('a writer reads, and goes on as a writer');
    for (const step of ['A: writeLock.lock()', 'A: readLock.lock()', 'A: readLock.unlock()']) {
      await trace.put(step);
      expect(await read.tryAcquire()).toBeNull();
      expect(await write.tryAcquire()).toBeNull();
    }
    await trace.put('A: writeLock.unlock()');
    await write.using(() => undefined);
  });

  it('when it is waited for', async () => {
    const [b, c] = [deafLockOf(), deafLockOf()];
    const trace = await golden.scenario('waited for');
    await trace.put('A: writeLock.lock()');
    const waitingToRead = b.read.acquire();
    await listeners(1);
    const sinceUnlock = new Stopwatch();
    await trace.put('A: writeLock.unlock()');
    const reading = await waitingToRead;
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
    trace.owner('B', reading.owner);
    await trace.sees('B: readLock.lock() goes on');
    await reading.release();
    trace.passes('B: readLock.unlock()');
    const last = await c.write.acquire();
    trace.owner('C', last.owner);
    await trace.sees('C: writeLock.lock() goes on');
    await last.release();
    await trace.sees('C: writeLock.unlock()');
  });

  it('when we wait to write for a reader of Java', async () => {
    const { write } = deafLockOf();
    const trace = await golden.scenario('two readers');
    await trace.put('A: readLock.lock()');
    await trace.put('B: readLock.lock()');
    await trace.put('A: readLock.lock()');
    await trace.put('A: readLock.unlock()');
    await trace.put('A: readLock.unlock()');
    const waiting = write.acquire();
    await listeners(1);
    const sinceUnlock = new Stopwatch();
    await trace.put('B: readLock.unlock()');
    await (await waiting).release();
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
  });

  it('when we end it by force', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('ended by force');
    await trace.put('A: readLock.lock()');
    expect(await write.forceRelease()).toBe(false);
    await trace.sees('C: writeLock.forceUnlock()');
    expect(await read.forceRelease()).toBe(true);
    await trace.sees('C: readLock.forceUnlock()', { keys: {} });
    await trace.put('A: writeLock.lock()');
    expect(await read.forceRelease()).toBe(false);
    expect(await write.forceRelease()).toBe(true);
    await trace.sees('C: writeLock.forceUnlock()');
    expect(await write.forceRelease()).toBe(false);
  });
});
