import { describe, expect, it } from '@jest/globals';
import { FairLockService } from 'nestjs-redis-lock';
import { eventually } from '../support/eventually.js';
import { useLocks, useProxy } from '../support/lock-client.js';
import type { ProxiedConnection } from '../support/proxied-connection.js';
import {
  channelOf,
  PROMPT_MS,
  roundTrips,
  Stopwatch,
  useRealRedis,
  watch,
} from '../support/set-up.js';
import { FairView } from './fair-view.js';

const NO_POLL = { pollIntervalMs: 60_000 };
const CHANNELS = `${channelOf('a')}:`;

describe('FairLockService when what is handed over does not arrive', () => {
  const redis = useRealRedis();
  const view = new FairView(redis, 'a');
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => new FairLockService(context));

  /** A holder, and a waiter behind the proxy that listens and whose record says that. */
  const waiting = async (settings = {}, options = {}) => {
    const holder = open(NO_POLL);
    const waiter = open({ connection: proxy.current.url, ...NO_POLL, ...settings });
    const held = await holder.locks.acquire('a');
    const next = await view.enqueue(waiter.locks, options);
    await view.allWaitersListen();
    return { holder, waiter, held, next };
  };

  it('finds it by its poll', async () => {
    const { held, next } = await waiting({ pollIntervalMs: 200 });
    const fault = proxy.current.drop('toClient', { containing: CHANNELS });
    const stopwatch = new Stopwatch();
    await held.release();
    const lease = await next.promise;
    expect(stopwatch.ms).toBeLessThan(5 * 200);
    expect(fault.hits).toBeGreaterThan(0);
    lease.assertHeld();
    await lease.release();
  });

  it('finds it when its subscription stands again', async () => {
    const { held, next } = await waiting();
    const fault = proxy.current.drop('toClient', { containing: CHANNELS });
    await held.release();
    await eventually(() => fault.hits > 0);
    proxy.current.cut({ where: ({ subscriber }: ProxiedConnection) => subscriber });
    const stopwatch = new Stopwatch();
    await (await next.promise).release();
    expect(stopwatch.ms).toBeLessThan(5 * 500);
  });

  it('releases it when its caller leaves meanwhile', async () => {
    const left = new AbortController();
    const { holder, held, next } = await waiting({}, { signal: left.signal });
    const behind = await view.enqueue(holder.locks);
    await view.allWaitersListen();
    const fault = proxy.current.hold('toClient', { containing: CHANNELS });
    await held.release();
    await eventually(() => fault.hits > 0);
    expect(await redis.admin.hgetall('a')).toEqual({ [next.owner]: '1' });
    const stopwatch = new Stopwatch();
    left.abort(new Error('gone'));
    await expect(next.promise).rejects.toThrow('gone');
    const lease = await behind.promise;
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
    fault.heal();
    await roundTrips(redis, 20);
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    await lease.release();
  });

  describe('before it is old', () => {
    const late = async (heldForMs: number, claimTimeMs: number) => {
      const { held, ...rest } = await waiting({ claimTimeMs });
      const sinceClaim = new Stopwatch();
      const fault = proxy.current.hold('toClient', { containing: CHANNELS });
      await held.release();
      await eventually(() => fault.hits > 0);
      await eventually(() => sinceClaim.realMs > heldForMs);
      return { ...rest, fault };
    };

    it('asks Redis, with less than half of the claim left, before the work begins', async () => {
      const { next, fault } = await late(1_200, 2_000);
      expect(next.state).toBe('pending');
      const sent = await redis.commandsDuring(async () => {
        fault.heal();
        const lease = await next.promise;
        // The whole lease, and not what is left of the claim.
        expect(lease.remainingMs).toBeGreaterThan(20_000);
        await lease.release();
      });
      expect(sent.evalsha).toBe(2);
    });

    it('is refused with the claim over, and waits on', async () => {
      const { next, fault } = await late(0, 500);
      const other = open({ pollIntervalMs: 50 });
      const taken = await other.locks.acquire('a');
      fault.heal();
      await eventually(async () => (await view.queue()).length === 1);
      expect(next.state).toBe('pending');
      expect(await redis.admin.hgetall('a')).toEqual({ [taken.owner]: '1' });
      await taken.release();
      await (await next.promise).release();
    });
  });

  it('takes no message for a grant that does not know its claim', async () => {
    const { held, next } = await waiting();
    const record = (await redis.admin.hget(view.keys.waiting, next.owner)) ?? '';
    const nonce = record.split(' ')[2] ?? '';
    const number = next.owner.split(':')[1] ?? '';
    const forged = [
      ...['', ' ', 'null', '1', number, `${number} `, `-1 ${nonce}`, 'x'.repeat(100_000)],
      `${number} ${'0'.repeat(nonce.length)}`,
      `${number} ${nonce.slice(0, -1)}`,
      `${number} ${nonce}x`,
      `${number}0 ${nonce}`,
      `${number}0 ${'f'.repeat(nonce.length)}`,
    ];
    for (const payload of forged) await redis.admin.publish(CHANNELS + next.owner, payload);
    await roundTrips(redis, 20);
    expect(next.state).toBe('pending');
    expect(await redis.admin.hgetall('a')).toEqual({ [held.owner]: '1' });
    expect(await view.queue()).toEqual([next.owner]);
    await held.release();
    await (await next.promise).release();
  });

  it('takes none that was used before, of this waiter or another', async () => {
    const { holder, waiter, held, next } = await waiting();
    const heard: string[] = [];
    const ear = redis.admin.duplicate();
    ear.on('pmessage', (_, __, payload: string) => heard.push(payload));
    await ear.psubscribe(`${CHANNELS}*`);
    await held.release();
    await (await next.promise).release();
    await eventually(() => heard.length > 0);
    ear.disconnect();
    const again = await holder.locks.acquire('a');
    const later = await view.enqueue(waiter.locks);
    await view.allWaitersListen();
    const [payload = ''] = heard;
    const nonce = payload.split(' ')[1] ?? '';
    for (const owner of [next.owner, later.owner]) {
      await redis.admin.publish(CHANNELS + owner, payload);
      await redis.admin.publish(CHANNELS + owner, `${owner.split(':')[1] ?? ''} ${nonce}`);
    }
    await roundTrips(redis, 20);
    expect(later.state).toBe('pending');
    again.assertHeld();
    expect(await redis.admin.hgetall('a')).toEqual({ [again.owner]: '1' });
    await again.release();
    await (await later.promise).release();
  });

  it('of a release whose answer was lost, the next of its process finds it', async () => {
    const ours = open({ connection: proxy.current.url, ...NO_POLL });
    const held = await ours.locks.acquire('a');
    const next = watch(ours.locks.acquire('a', { waitTimeMs: 60_000 }));
    await eventually(async () => (await view.queue()).length === 1);
    await view.allWaitersListen();
    const isCommand = ({ subscriber }: ProxiedConnection) => !subscriber;
    const lost = proxy.current.loseReply({ containing: 'evalsha', times: 1, where: isCommand });
    await held.release();
    const lease = await next.promise;
    expect(lost.hits).toBe(1);
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    await lease.release();
  });
});
