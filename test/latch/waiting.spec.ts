import { describe, expect, it } from '@jest/globals';
import { LatchService, LockShutdownError } from 'nestjs-redis-lock/core';
import { describeLatchBehaviour } from '../contract/latch.contract.js';
import { eventually, PROMPT_MS, roundTrips, useProxiedClients, watch } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';

const CHANNEL = 'redisson_countdownlatch__channel__{a}';
const LONG_MS = 60_000;

describe('LatchService: waiting', () => {
  const { redis, proxy, open } = useProxiedClients(LatchService);

  describeLatchBehaviour({ redis, open });

  const latchOf = (settings: Parameters<typeof open>[0] = {}) => open(settings).locks.get('a');
  const listening = async (count = 1) => {
    const [, listeners] = await redis.admin.pubsub('NUMSUB', CHANNEL);
    return Number(listeners) === count;
  };

  it('only looks when it has no time, whatever those who wait were told last', async () => {
    const client = open({ pollIntervalMs: LONG_MS, connection: proxy.current.url });
    const latch = client.locks.get('a');
    await latch.trySetCount(1);
    proxy.current.drop('toClient', { where: ({ subscriber }) => subscriber, containing: CHANNEL });
    const waiting = watch(latch.wait({ waitTimeMs: LONG_MS }));
    const sent = await redis.commandsDuring(async () => {
      expect(await latch.wait({ waitTimeMs: 0 })).toBe(false);
    });
    expect(sent.evalsha).toBeLessThanOrEqual(2);
    await redis.admin.del('a');
    expect(await latch.wait({ waitTimeMs: 0 })).toBe(true);
    await client.close();
    await expect(waiting.promise).rejects.toThrow(LockShutdownError);
  });

  it('does not go on for a message that is not true', async () => {
    const latch = latchOf({ pollIntervalMs: LONG_MS });
    await latch.trySetCount(2);
    const waiting = watch(latch.wait({ waitTimeMs: LONG_MS }));
    await eventually(() => listening());
    for (const payload of ['0', '1', 'abc', '']) await redis.admin.publish(CHANNEL, payload);
    await roundTrips(redis, 5);
    expect(waiting.state).toBe('pending');
    await redis.admin.del('a');
    await redis.admin.publish(CHANNEL, '0');
    expect(await waiting.promise).toBe(true);
  });

  it('finds out by its poll when the message is lost', async () => {
    const latch = latchOf({ pollIntervalMs: 100, connection: proxy.current.url });
    await latch.trySetCount(1);
    const lost = proxy.current.drop('toClient', {
      where: ({ subscriber }) => subscriber,
      containing: 'message',
    });
    const waiting = latch.wait({ waitTimeMs: LONG_MS });
    await eventually(() => listening());
    const sinceOpening = new Stopwatch();
    await latchOf().countDown();
    expect(await waiting).toBe(true);
    expect(sinceOpening.ms).toBeLessThan(5 * 100 + PROMPT_MS);
    lost.heal();
  });

  it('finds out by its poll when no waiter could be notified, and says so', async () => {
    const latch = latchOf({ pollIntervalMs: 100 });
    await latch.trySetCount(1);
    const waiting = latch.wait({ waitTimeMs: LONG_MS });
    await eventually(() => listening());
    const rules = ['on', 'nopass', '~*', 'resetchannels', '+@all'];
    await redis.admin.acl('SETUSER', 'mute', ...rules);
    const mute = open({ connection: redis.url.replace('//', '//mute:x@') });
    expect(await mute.locks.get('a').countDown()).toBe(0);
    expect(mute.eventsOf('wake-up-failed')).toMatchObject([{ type: 'wake-up-failed', name: 'a' }]);
    expect(await waiting).toBe(true);
  });

  it('finds out when its message connection is back', async () => {
    const latch = latchOf({ pollIntervalMs: LONG_MS });
    await latch.trySetCount(1);
    const waiting = latch.wait({ waitTimeMs: LONG_MS });
    await eventually(() => listening());
    await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await redis.admin.del('a');
    expect(await waiting).toBe(true);
  });

  it('lets 1,000 waiters of a process go on by one script', async () => {
    const latch = latchOf({ pollIntervalMs: LONG_MS });
    await latch.trySetCount(1);
    await latch.getCount();
    await redis.resetCommandStats();
    const waiters = Array.from({ length: 1_000 }, () => latch.wait({ waitTimeMs: LONG_MS }));
    // One when they come, and one when messages are heard.
    await eventually(async () => (await redis.commandStats()).evalsha === 2);
    const sent = await redis.commandsDuring(async () => {
      await redis.admin.multi().del('a').publish(CHANNEL, '0').exec();
      const answers = await Promise.all(waiters);
      expect(answers.every((isOpen) => isOpen)).toBe(true);
    });
    expect(sent.evalsha).toBe(1);
  });

  it('asks anew for a waiter that comes while an answer is on its way', async () => {
    const latch = latchOf({ connection: proxy.current.url });
    await latch.getCount();
    const answer = proxy.current.hold('toClient');
    const early = watch(latch.wait({ waitTimeMs: LONG_MS }));
    await eventually(() => answer.hits > 0);
    // Redis' answer is from a time before the latch was set, and before the second waiter.
    await redis.admin.set('a', 1);
    const late = watch(latch.wait({ waitTimeMs: LONG_MS }));
    answer.heal();
    expect(await early.promise).toBe(true);
    await eventually(() => listening());
    expect(late.state).toBe('pending');
    await latchOf().countDown();
    expect(await late.promise).toBe(true);
  });
});
