import { describe, expect, it } from '@jest/globals';
import { FairLockService, LockReplicationError } from 'nestjs-redis-lock/core';
import { expectOrder, PROMPT_MS, Section, stallProcess, warmUp, watch } from '../contract/suite.js';
import { type LockClient, type LockClientOptions, useRealClients } from '../support/lock-client.js';
import { pttlMeanwhile } from '../support/meanwhile.js';
import { JavaFairLock } from '../support/redisson-fair.js';
import { channelOf, eventually, Stopwatch } from '../support/set-up.js';
import { FairView, grantTo } from './fair-view.js';

const PATIENT = { waitTimeMs: 60_000 };
/** So long that no spec can pass by it. */
const NO_POLL = { pollIntervalMs: 60_000 };
const GHOST = 'dead0000-0000-4000-8000-000000000001:7';
const ALIVE = { aliveMs: 60_000, terms: `${'ab'.repeat(16)} 400 s` };

describe('FairLockService hands a lock on', () => {
  const { redis, open } = useRealClients(FairLockService);
  const view = new FairView(redis, 'a');

  /** A client of which the server knows all scripts, and which counts what it sends. */
  const opened = async (settings: LockClientOptions = {}) => {
    const client = open({ ...NO_POLL, ...settings });
    await warmUp(client.locks);
    return { ...client, ran: counting(client) };
  };
  const counting = ({ connection }: LockClient<FairLockService>) => {
    const ran: Record<string, number> = {};
    const run = connection.run.bind(connection);
    connection.run = (script, ...rest) => {
      ran[script.name] = (ran[script.name] ?? 0) + 1;
      return run(script, ...rest);
    };
    return ran;
  };
  const releases = (...all: Record<string, number>[]) =>
    all.reduce((sum, ran) => sum + (ran['fair.release'] ?? 0) + (ran['fair.pass'] ?? 0), 0);
  /** Redis publishes these messages on channels of the lock during the work. */
  const told = async (work: () => Promise<void>) => {
    const heard: [string, string][] = [];
    const ear = redis.admin.duplicate();
    ear.on('pmessage', (_, channel: string, payload: string) => heard.push([channel, payload]));
    await ear.psubscribe('redisson_lock__channel:*');
    await work();
    await redis.admin.publish('redisson_lock__channel:end', '');
    await eventually(() => heard.at(-1)?.[0] === 'redisson_lock__channel:end');
    ear.disconnect();
    return heard.slice(0, -1);
  };

  it.each([10, 100])(
    'in one process, in the order of arrival, by one script for each of %d sections',
    async (count) => {
      const { locks, ran } = await opened();
      const sent = await redis.commandsDuring(() => expectOrder(locks, count));
      expect(releases(ran)).toBe(count);
      // A caller asks once to stand in the queue, and at most once more to record that it listens.
      expect(ran['fair.acquire']).toBeLessThanOrEqual(2 * count);
      expect(sent.publish).toBeUndefined();
    },
  );

  it.each([10, 100])(
    'from process to process, in the order of arrival, by one script for each of %d sections',
    async (count) => {
      // However slowly they are put into the queue, none of their claims is old by then.
      const lasting = { claimTimeMs: 30_000 };
      const clients = [await opened(lasting), await opened(lasting)] as const;
      const held = await clients[0].locks.acquire('a');
      const section = new Section();
      const served: number[] = [];
      const callers: Promise<unknown>[] = [];
      for (let i = 0; i < count; i++) {
        const { locks } = clients[i % 2 === 0 ? 1 : 0];
        callers.push(locks.using('a', () => section.run(() => served.push(i)), PATIENT));
        await eventually(async () => (await view.queue()).length === i + 1, { everyMs: 1 });
      }
      await view.allWaitersListen();
      for (const { ran } of clients) ran['fair.acquire'] = 0;
      const sent = await redis.commandsDuring(async () => {
        await held.release();
        await Promise.all(callers);
      });
      expect(served).toEqual(Array.from({ length: count }, (_, i) => i));
      expect(section.most).toBe(1);
      expect(releases(...clients.map(({ ran }) => ran))).toBe(count + 1);
      expect(clients.map(({ ran }) => ran['fair.acquire'])).toEqual([0, 0]);
      expect(sent.publish).toBe(count);
    },
  );

  it('also to a Java thread in between, which is told as by Redisson, and is not overtaken', async () => {
    const [ours, others] = [await opened(), await opened()];
    const java = new JavaFairLock(redis.admin, 'a');
    const first = await ours.locks.acquire('a');
    const b = await view.enqueue(others.locks);
    await java.tryLock();
    const c = await view.enqueue(ours.locks);
    const d = await view.enqueue(others.locks);
    await view.allWaitersListen();
    const messages = await told(async () => {
      await first.release();
      const second = await b.promise;
      expect(await java.tryOnce()).toBe(false);
      await second.release();
      expect(await redis.admin.exists('a')).toBe(0);
      expect(await others.locks.tryAcquire('a')).toBeNull();
      expect([c.state, d.state]).toEqual(['pending', 'pending']);
      expect(await java.tryLock()).toBeNull();
      await java.unlock();
      await (await c.promise).release();
      await (await d.promise).release();
    });
    expect(messages).toEqual([
      [`${channelOf('a')}:${b.owner}`, grantTo(b.owner)],
      // The claim of the one before it ends before the lease that it has read.
      [java.channel, '0'],
      [java.channel, '0'],
      [`${channelOf('a')}:${c.owner}`, '0'],
      [`${channelOf('a')}:${d.owner}`, grantTo(d.owner)],
    ]);
  });

  it('also to one whose place in the queue was lost: it finds the lock free at once', async () => {
    const { locks } = await opened();
    const held = await locks.acquire('a');
    const waiting = locks.acquire('a', PATIENT);
    // The waiter listens, and its record in Redis says that.
    await eventually(async () =>
      (await redis.admin.hvals('nestjs_fair_waiting:{a}')).some((record) => record.endsWith('s')),
    );
    await redis.admin.flushall();
    await redis.admin.hset('a', held.owner, '1');
    await held.release();
    const stopwatch = new Stopwatch();
    await (await waiting).release();
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('and tells one that is not reached by messages, or runs an older version, that it is free', async () => {
    const [ours, others] = [await opened(), await opened({ wakeUp: 'poll' })];
    const first = await ours.locks.acquire('a');
    const b = await view.enqueue(others.locks);
    const messages = await told(async () => {
      await first.release();
      await (await b.promise).release();
    });
    expect(messages).toEqual([[`${channelOf('a')}:${b.owner}`, '0']]);
  });

  describe('past one that is dead', () => {
    const releasedToGhost = async (isHeard: boolean, settings: LockClientOptions = {}) => {
      const [holder, waiter] = [await opened(), await opened(settings)];
      const ear = redis.admin.duplicate();
      if (isHeard) await ear.subscribe(`${channelOf('a')}:${GHOST}`);
      const held = await holder.locks.acquire('a');
      await view.enter({ owner: GHOST, ...ALIVE });
      const next = await view.enqueue(waiter.locks);
      await view.allWaitersListen();
      const stopwatch = new Stopwatch();
      await held.release();
      return { next, stopwatch, disconnect: () => ear.disconnect() };
    };
    const forget = () => redis.admin.del(...Object.values(view.keys));

    it('and hears nothing: the next gets it in the same step, and it keeps its place', async () => {
      const { next, stopwatch, disconnect } = await releasedToGhost(false);
      const lease = await next.promise;
      expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
      expect(await view.queue()).toEqual([GHOST]);
      await lease.release();
      disconnect();
      expect(await redis.admin.exists('a')).toBe(0);
      await forget();
    });

    it('and cannot be told from a live one: the next waits for the claim to end', async () => {
      const { next, stopwatch, disconnect } = await releasedToGhost(true, { pollIntervalMs: 100 });
      expect(await redis.admin.hgetall('a')).toEqual({ [GHOST]: '1' });
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(400);
      const lease = await next.promise;
      expect(stopwatch.ms).toBeLessThan(5 * (400 + 100));
      // It wakes up, too late.
      expect(await view.enter({ owner: GHOST })).toMatchObject({ kind: 'busy' });
      expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
      disconnect();
      await lease.release();
      await forget();
    });

    it('and kept out a Java thread until its claim had ended: a waiter that polls notifies it', async () => {
      const java = new JavaFairLock(redis.admin, 'a');
      const [holder, waiter] = [await opened(), await opened({ pollIntervalMs: 100 })];
      const ear = redis.admin.duplicate();
      await ear.subscribe(`${channelOf('a')}:${GHOST}`);
      const held = await holder.locks.acquire('a');
      await view.enter({ owner: GHOST, ...ALIVE });
      await java.tryLock();
      const next = await view.enqueue(waiter.locks);
      let heard = 0;
      ear.on('message', (channel: string) => (heard += channel === java.channel ? 1 : 0));
      await ear.subscribe(java.channel);
      await held.release();
      expect(await redis.admin.hgetall('a')).toEqual({ [GHOST]: '1' });
      // First that the claim is shorter than what it has read.
      await eventually(() => heard > 1, { withinMs: 5 * (400 + 100) }).finally(() =>
        ear.disconnect(),
      );
      expect(await java.tryLock()).toBeNull();
      await java.unlock();
      await (await next.promise).release();
      await forget();
    });
  });

  describe('to one that enters by itself', () => {
    it.each(['the same', 'another'])('for its token, in %s process', async (which) => {
      const ours = await opened();
      const { locks } = which === 'another' ? await opened() : ours;
      const first = await ours.locks.acquire('a', { fenced: true });
      const b = await view.enqueue(locks, { fenced: true });
      const c = await view.enqueue(locks, { fenced: true });
      await view.allWaitersListen();
      await first.release();
      const second = await b.promise;
      expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
      expect(await redis.admin.hgetall('a')).toEqual({ [b.owner]: '1' });
      await second.release();
      const third = await c.promise;
      expect(third.fencingToken).toBeGreaterThan(second.fencingToken ?? NaN);
      await third.release();
    });

    it.each(['the same', 'another'])(
      'for replicas that are not there, in %s process: it goes on to the next',
      async (which) => {
        const ours = await opened();
        const { locks } = which === 'another' ? await opened() : ours;
        const first = await ours.locks.acquire('a');
        const copied = watch(locks.acquire('a', { ...PATIENT, minReplicas: 1 }));
        await eventually(async () => (await view.queue()).length === 1);
        const next = await view.enqueue(ours.locks);
        await first.release();
        await expect(copied.promise).rejects.toThrow(LockReplicationError);
        await (await next.promise).release();
        // Behind all that it has sent by the way of those who want replicas: nothing takes the lock again.
        const behind = locks.tryAcquire('b', { minReplicas: 1 });
        await expect(behind).rejects.toThrow(LockReplicationError);
        expect(await redis.admin.exists('a', ...Object.values(view.keys))).toBe(0);
      },
    );
  });

  describe('with a lease', () => {
    const handed = async (leaseTimeMs?: number) => {
      const [ours, others] = [await opened(), await opened({ claimTimeMs: 2_000 })];
      const first = await ours.locks.acquire('a');
      const next = await view.enqueue(others.locks, leaseTimeMs ? { leaseTimeMs } : {});
      await view.allWaitersListen();
      const atFirst = next.promise.then(({ remainingMs }) => remainingMs);
      await first.release();
      return { lease: await next.promise, atFirstMs: await atFirst };
    };

    it('that is its claim to begin with, and then its own, which the watchdog renews', async () => {
      const { lease, atFirstMs } = await handed();
      expect(atFirstMs).toBeLessThanOrEqual(2_000);
      await eventually(() => lease.remainingMs > 20_000);
      expect(await redis.admin.pttl('a')).toBeGreaterThan(20_000);
      await lease.release();
    });

    it('that it asked for, once its claim is confirmed', async () => {
      const { lease } = await handed(10_000);
      await eventually(() => lease.remainingMs > 5_000);
      expect(lease.remainingMs).toBeLessThanOrEqual(10_000);
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(10_000);
      await lease.release();
    });

    it('that is whole in Redis, though the work blocks the event loop', async () => {
      const claimTimeMs = 500;
      const [ours, others] = [await opened(), await opened({ claimTimeMs })];
      await redis.admin.script('FLUSH');
      const first = await ours.locks.acquire('a');
      const next = await view.enqueue(others.locks, { leaseTimeMs: 20_000 });
      await view.allWaitersListen();
      const left = next.promise.then((lease) => {
        const leftMs = pttlMeanwhile(redis, 'a');
        stallProcess(claimTimeMs);
        return lease.release().then(() => leftMs);
      });
      await first.release();
      expect(await left).toBeGreaterThan(10_000);
      expect(others.eventsOf('lost')).toEqual([]);
    });

    it('that is shorter than the claim', async () => {
      const { lease } = await handed(1_500);
      expect(lease.remainingMs).toBeLessThanOrEqual(1_500);
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(1_500);
      await lease.release();
    });
  });
});
