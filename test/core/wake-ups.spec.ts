import { afterEach, describe, expect, it } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock/core';
import type { ProxiedConnection } from '../support/proxied-connection.js';
import {
  eventually,
  PROMPT_MS,
  roundTrips,
  untilQueued,
  useProxiedClients,
  watch,
  type LockClient,
} from '../support/set-up.js';
import { channelOf, redisson } from '../support/redisson.js';
import { Stopwatch } from '../support/stopwatch.js';

/** So long that no spec can pass by it. */
const NO_POLL_MS = 60_000;
const FOR_EVER = { waitTimeMs: Infinity };
/** A half-open subscriber is noticed within two seconds. */
const HALF_OPEN_FOUND_MS = 5 * 2_000;

describe('LockService when a wake-up is lost', () => {
  const { redis, proxy, open } = useProxiedClients(LockService);
  const isSubscriber = ({ subscriber }: ProxiedConnection) => subscriber;
  const listening = (count = 1) => redis.listening(channelOf('a'), count);

  /** A waiter waits for a lock that Java holds, and its subscription stands. */
  const waiter = async (pollIntervalMs: number) => {
    const client = open({ connection: proxy.current.url, pollIntervalMs });
    await redisson.tryLock(redis.admin, 'a');
    const waiting = watch(client.locks.acquire('a', FOR_EVER));
    await listening();
    // The attempt that follows the confirmation is over.
    await eventually(async () => (await redis.commandStats()).subscribe === 1);
    await roundTrips(redis, 5);
    return { ...client, waiting };
  };
  const grantedWithin = async (waiting: Promise<AsyncDisposable>, ms: number) => {
    const stopwatch = new Stopwatch();
    const lease = await waiting;
    expect(stopwatch.ms).toBeLessThan(ms);
    await lease[Symbol.asyncDispose]();
  };

  afterEach(async () => {
    await redis.resetCommandStats();
  });

  it('waits no longer than its poll when the message is dropped', async () => {
    const { waiting } = await waiter(200);
    const fault = proxy.current.drop('toClient', { containing: channelOf('a') });
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting.promise, 5 * 200);
    await eventually(() => fault.hits > 0);
  });

  it('polls also when the lease of the holder ends late or never', async () => {
    const client = open({ pollIntervalMs: 100 });
    await redisson.tryLock(redis.admin, 'a');
    await redis.admin.persist('a');
    const waiting = client.locks.acquire('a', FOR_EVER);
    await listening();
    await redis.admin.del('a');
    await grantedWithin(waiting, 5 * 100);
  });

  it('asks again as soon as a killed subscription stands again', async () => {
    const { waiting } = await waiter(NO_POLL_MS);
    await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // No client receives this message.
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting.promise, 5 * 500);
  });

  it('asks again whenever the subscription was lost, as often as that may be', async () => {
    const { waiting } = await waiter(NO_POLL_MS);
    for (let kill = 0; kill < 5; kill += 1) {
      await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await listening();
      expect(waiting.state).toBe('pending');
    }
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting.promise, 5 * 500);
  });

  it('finds out that its subscriber is half open, and asks', async () => {
    const { waiting } = await waiter(NO_POLL_MS);
    const half = proxy.current.connections.find(isSubscriber);
    proxy.current.blackhole('both', { where: (connection) => connection === half });
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting.promise, HALF_OPEN_FOUND_MS);
    half?.cut('rst');
  });

  it('hears of a release between its attempt and its subscription', async () => {
    const client = open({ connection: proxy.current.url, pollIntervalMs: NO_POLL_MS });
    await redisson.tryLock(redis.admin, 'a');
    const fault = proxy.current.hold('toServer', { containing: 'subscribe' });
    const waiting = client.locks.acquire('a', FOR_EVER);
    await eventually(() => fault.hits > 0);
    await redisson.unlock(redis.admin, 'a');
    fault.heal();
    await grantedWithin(waiting, PROMPT_MS);
  });

  it('asks again as soon as the connection for commands is back', async () => {
    const { waiting } = await waiter(NO_POLL_MS);
    const keep = isSubscriber;
    proxy.current.cut({ where: (connection) => !keep(connection) });
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting.promise, 5 * 500);
  });

  it('polls while it may not subscribe, and says so', async () => {
    await redis.admin.acl('SETUSER', 'deaf', 'on', '>pw', '~*', '+@all', 'resetchannels');
    const url = redis.url.replace('//', '//deaf:pw@');
    const client = open({ connection: url, pollIntervalMs: 100 });
    await redisson.tryLock(redis.admin, 'a');
    const waiting = client.locks.acquire('a', FOR_EVER);
    await eventually(() => client.eventsOf('messages-failed').length > 0);
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting, 5 * 100);
    await redis.admin.acl('DELUSER', 'deaf');
  });

  it('frees the lock although it may not publish, and says so: the others poll', async () => {
    await redis.admin.acl('SETUSER', 'mute', 'on', '>pw', '~*', '&*', '+@all', '-publish');
    const [mute, others] = [
      open({ connection: redis.url.replace('//', '//mute:pw@') }),
      open({ pollIntervalMs: 100 }),
    ];
    const lease = await mute.locks.acquire('a');
    const waiting = others.locks.acquire('a', FOR_EVER);
    await listening();
    await lease.release();
    expect(mute.eventsOf('wake-up-failed')).toMatchObject([{ type: 'wake-up-failed', name: 'a' }]);
    await grantedWithin(waiting, 5 * 100);
    await redis.admin.acl('DELUSER', 'mute');
  });

  /** Callers of the holder's process, and one of another process that waits: who is served, in order. */
  const inOrder = async (
    holder: LockClient<LockService>,
    other: LockClient<LockService>,
    untilWaiting: () => Promise<unknown>,
  ) => {
    const served: string[] = [];
    const lease = await holder.locks.acquire('a');
    const waiting = other.locks.using('a', () => served.push('other'), FOR_EVER);
    await untilWaiting();
    const callers = Array.from({ length: 30 }, () =>
      holder.locks.using('a', () => served.push('holder'), FOR_EVER),
    );
    await lease.release();
    await Promise.all([waiting, ...callers]);
    return served;
  };

  it('hands over to another process although it may not publish: that one polls', async () => {
    await redis.admin.acl('SETUSER', 'mute', 'on', '>pw', '~*', '&*', '+@all', '-publish');
    const mute = open({ connection: redis.url.replace('//', '//mute:pw@') });
    const other = open({ pollIntervalMs: 100 });
    const served = await inOrder(mute, other, () => untilQueued(redis, 'a', [other]));
    expect(served.at(-1)).toBe('holder');
    expect(mute.eventsOf('wake-up-failed').length).toBeGreaterThan(0);
    await redis.admin.acl('DELUSER', 'mute');
  });

  it('is handed over to by polls once it may not subscribe any more', async () => {
    const rights = ['on', '>pw', '~*', '+@all', '&*'];
    await redis.admin.acl('SETUSER', 'deaf', ...rights);
    const holder = open();
    const deaf = open({ connection: redis.url.replace('//', '//deaf:pw@'), pollIntervalMs: 100 });
    const served = await inOrder(holder, deaf, async () => {
      await untilQueued(redis, 'a', [deaf]);
      await redis.admin.acl('SETUSER', 'deaf', 'resetchannels');
      await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub', 'USER', 'deaf');
      await eventually(async () => {
        const claims = await redis.admin.hvals('nestjs_lock_claims:{a}');
        return claims.some((claim) => claim.endsWith(' p'));
      });
    });
    expect(served.at(-1)).toBe('holder');
    await redis.admin.acl('DELUSER', 'deaf');
  });

  it('takes no message for a grant, whatever it says', async () => {
    const { waiting } = await waiter(NO_POLL_MS);
    const payloads = [
      '0',
      '1',
      '-1',
      'granted',
      '',
      '{"owner":"x"}',
      'x'.repeat(100_000),
      '\0\r\n',
    ];
    for (const payload of payloads) await redis.admin.publish(channelOf('a'), payload);
    await roundTrips(redis, 5);
    expect(waiting.state).toBe('pending');
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting.promise, PROMPT_MS);
  });

  it('asks far less often than a flood of messages tells it to', async () => {
    const { waiting } = await waiter(NO_POLL_MS);
    await redis.resetCommandStats();
    const MESSAGES = 5_000;
    const flood = redis.admin.pipeline();
    for (let i = 0; i < MESSAGES; i += 1)
      flood.publish(channelOf('a'), i % 2 === 0 ? '0' : 'x'.repeat(200));
    await flood.exec();
    await roundTrips(redis, 5);
    const { evalsha = 0, publish } = await redis.commandStats();
    expect(publish).toBe(MESSAGES);
    expect(evalsha).toBeLessThan(MESSAGES / 20);
    expect(waiting.state).toBe('pending');
    await redisson.unlock(redis.admin, 'a');
    await grantedWithin(waiting.promise, PROMPT_MS);
  });

  it('wakes one waiter for each release, in each of the processes', async () => {
    const clients = [1, 2, 3].map(() => open({ pollIntervalMs: NO_POLL_MS }));
    await redisson.tryLock(redis.admin, 'a');
    const served: number[] = [];
    const waiting = clients.flatMap(({ locks }, i) =>
      [1, 2, 3, 4].map(() => locks.using('a', () => served.push(i), FOR_EVER)),
    );
    await listening(3);
    await redisson.unlock(redis.admin, 'a');
    await Promise.all(waiting);
    expect(served.sort()).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
  });
});
