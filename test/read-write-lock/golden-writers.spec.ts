import { describe, expect, it } from '@jest/globals';
import { PROMPT_MS, Stopwatch, useRealRedis } from '../support/set-up.js';
import { useGolden } from '../support/wire/golden.js';
import { useReadWriteLocks } from './sides.js';

const LEASE_LOST = { code: 'LEASE_LOST' };
const CHANNEL = 'redisson_rwlock:{a}';
const READER_OF_A = '<A that reads>';

const redis = useRealRedis();
const golden = useGolden(redis, 'read-write-lock', {
  ours: /^nestjs_rwlock_/,
  behind: { '1': '0' },
});
const { open } = useReadWriteLocks(redis);
const lockOf = () => open().locks.get('a');
/** The waiters of this client learn of a release only by its message. */
const deafLockOf = () => open({ pollIntervalMs: 60_000, waitTimeMs: 60_000 }).locks.get('a');

/** A writer that reads has another owner for that with us; in Java both are the thread. */
const bothOfA = {
  keys: {
    a: { hash: { '<A>:write': '1', [READER_OF_A]: '1', mode: 'write' }, ttl: 30_000 },
    [`{a}:${READER_OF_A}:rwlock_timeout:1`]: { string: '1', ttl: 30_000 },
  },
};

describe('what ReadWriteLockService leaves in Redis is what RReadWriteLock leaves there', () => {
  it('when an owner writes, but a nested write adds no lease to what is left', async () => {
    const [{ write }, other] = [lockOf(), lockOf()];
    const trace = await golden.scenario('a writer');
    await write.using(async (lease) => {
      await trace.plays('A: writeLock.lock()', lease);
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
    const reading = await write.using(async (writing) => {
      await trace.plays('A: writeLock.lock()', writing);
      const lease = await read.acquire();
      trace.owner('A that reads', lease.owner);
      await trace.sees('A: readLock.lock()', bothOfA);
      expect(await other.read.tryAcquire()).toBeNull();
      await trace.sees('B: readLock.tryLock()', bothOfA);
      return lease;
    });
    trace.owner('A', reading.owner);
    await trace.sees('A: writeLock.unlock()', { messages: [[CHANNEL, '1']] });
    const b = await trace.plays('B: readLock.tryLock()', other.read.acquire());
    await trace.plays('A: readLock.unlock()', reading.release());
    await trace.plays('B: readLock.unlock()', b.release());
  });

  it('when a writer reads and goes on as a writer', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('a writer reads, and goes on as a writer');
    await write.using(async (writing) => {
      await trace.plays('A: writeLock.lock()', writing);
      await read.using(async ({ owner }) => {
        trace.owner('A that reads', owner);
        await trace.sees('A: readLock.lock()', bothOfA);
      });
      await trace.sees('A: readLock.unlock()');
    });
    await trace.sees('A: writeLock.unlock()');
  });

  it('when it is waited for', async () => {
    const [{ write }, b, c] = [lockOf(), deafLockOf(), deafLockOf()];
    const trace = await golden.scenario('waited for');
    const writing = await trace.plays('A: writeLock.lock()', write.acquire());
    const waitingToRead = b.read.acquire();
    await redis.listening(CHANNEL);
    await trace.sees('B: readLock.lock() waits');
    await writing.release();
    trace.passes('A: writeLock.unlock()');
    const reading = await trace.plays('B: readLock.lock() goes on', waitingToRead);
    await redis.listening(CHANNEL, 0);
    const waitingToWrite = c.write.acquire();
    await redis.listening(CHANNEL);
    await trace.sees('C: writeLock.lock() waits');
    await reading.release();
    trace.passes('B: readLock.unlock()');
    const last = await trace.plays('C: writeLock.lock() goes on', waitingToWrite);
    await trace.plays('C: writeLock.unlock()', last.release());
  });

  it('when it is ended by force, but ours leaves no lease of a reader behind', async () => {
    const [holder, other] = [lockOf(), lockOf()];
    const trace = await golden.scenario('ended by force');
    const reading = await trace.plays('A: readLock.lock()', holder.read.acquire());
    expect(await trace.plays('C: writeLock.forceUnlock()', other.write.forceRelease())).toBe(false);
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
  it('when a Java thread writes', async () => {
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

  it('when a writer reads and goes on as a reader, which ours finds by its poll', async () => {
    const { read, write } = open({ pollIntervalMs: 200 }).locks.get('a');
    const trace = await golden.scenario('a writer reads, and goes on as a reader');
    for (const step of ['A: writeLock.lock()', 'A: readLock.lock()']) {
      await trace.put(step);
      expect(await read.tryAcquire()).toBeNull();
      expect(await write.tryAcquire()).toBeNull();
    }
    const waiting = read.acquire();
    await redis.listening(CHANNEL, 1);
    await trace.put('A: writeLock.unlock()');
    const b = await trace.plays('B: readLock.tryLock()', waiting);
    expect(await write.tryAcquire()).toBeNull();
    await trace.put('A: readLock.unlock()');
    await trace.plays('B: readLock.unlock()', b.release());
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
    await redis.listening(CHANNEL);
    const sinceUnlock = new Stopwatch();
    await trace.put('A: writeLock.unlock()');
    const reading = await waitingToRead;
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
    trace.owner('B', reading.owner);
    await trace.sees('B: readLock.lock() goes on');
    await reading.release();
    trace.passes('B: readLock.unlock()');
    const last = await trace.plays('C: writeLock.lock() goes on', c.write.acquire());
    await trace.plays('C: writeLock.unlock()', last.release());
  });

  it('when we end it by force', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('ended by force');
    await trace.put('A: readLock.lock()');
    expect(await trace.plays('C: writeLock.forceUnlock()', write.forceRelease())).toBe(false);
    expect(await read.forceRelease()).toBe(true);
    await trace.sees('C: readLock.forceUnlock()', { keys: {} });
    await trace.put('A: writeLock.lock()');
    expect(await read.forceRelease()).toBe(false);
    expect(await trace.plays('C: writeLock.forceUnlock()', write.forceRelease())).toBe(true);
    expect(await write.forceRelease()).toBe(false);
  });
});
