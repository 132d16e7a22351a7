import { describe, expect, it } from '@jest/globals';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { describeCountingBehaviour } from '../contract/counting.contract.js';
import { eventually, PROMPT_MS, Stopwatch, useProxiedClients, watch } from '../support/set-up.js';

const CHANNEL = 'redisson_sc:{a}';
const LONG_MS = 60_000;

describe('CountingSemaphore: waiting', () => {
  const { redis, proxy, open } = useProxiedClients(CountingSemaphores);

  describeCountingBehaviour({ redis, open });

  const semaphoreOf = (settings: Parameters<typeof open>[0] = {}) => open(settings).locks.get('a');
  const listening = (count = 1) => redis.listening(CHANNEL, count);
  const free = async () => Number(await redis.admin.get('a'));

  it('wakes as many as there are permits now by one message', async () => {
    const processes = [1, 2, 3].map(() => semaphoreOf({ pollIntervalMs: LONG_MS }));
    const waiting = processes.map((semaphore) =>
      watch(
        Promise.all(
          Array.from({ length: 10 }, () => semaphore.acquire(1, { waitTimeMs: LONG_MS })),
        ),
      ),
    );
    await listening(3);
    await semaphoreOf().addPermits(30);
    for (const { promise } of waiting) await promise;
    expect(await free()).toBe(0);
  });

  it('releases permits that were granted after the caller had gone', async () => {
    const client = open({ connection: proxy.current.url });
    const semaphore = client.locks.get('a');
    await semaphore.trySetPermits(100);
    await semaphore.acquire();
    const answers = proxy.current.hold('toClient');
    const abort = new AbortController();
    const calls = Array.from({ length: 30 }, (_, i) =>
      i % 2 === 0
        ? client.locks.get('a').acquire(1, { waitTimeMs: 30 })
        : client.locks.get('a').acquire(1, { signal: abort.signal }),
    );
    const outcomes = Promise.allSettled(calls);
    await eventually(async () => (await free()) < 99);
    abort.abort(new Error('no time'));
    for (const { status } of await outcomes) expect(status).toBe('rejected');
    answers.heal();
    await eventually(async () => (await free()) === 99);
    expect(client.eventsOf('late-grant').length).toBeGreaterThan(0);
  });

  it('finds out by its poll when the message is lost', async () => {
    const semaphore = semaphoreOf({ pollIntervalMs: 100, connection: proxy.current.url });
    proxy.current.drop('toClient', {
      where: ({ subscriber }) => subscriber,
      containing: 'message',
    });
    const waiting = semaphore.acquire(1, { waitTimeMs: LONG_MS });
    await listening();
    const sinceRelease = new Stopwatch();
    await semaphoreOf().release();
    await waiting;
    expect(sinceRelease.ms).toBeLessThan(5 * 100 + PROMPT_MS);
  });

  it('finds out by its poll when no waiter could be notified, and says so', async () => {
    const waiting = semaphoreOf({ pollIntervalMs: 100 }).acquire(1, { waitTimeMs: LONG_MS });
    await listening();
    await redis.admin.acl('SETUSER', 'mute', 'on', 'nopass', '~*', 'resetchannels', '+@all');
    const mute = open({ connection: redis.url.replace('//', '//mute:x@') });
    await mute.locks.get('a').release();
    expect(mute.eventsOf('wake-up-failed')).toMatchObject([{ type: 'wake-up-failed', name: 'a' }]);
    await waiting;
  });

  it('finds out when its message connection is back', async () => {
    const waiting = semaphoreOf({ pollIntervalMs: LONG_MS }).acquire(1, { waitTimeMs: LONG_MS });
    await listening();
    await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await redis.admin.set('a', 1);
    await waiting;
  });

  it('asks twice for each poll at most while it waits', async () => {
    const semaphore = semaphoreOf({ pollIntervalMs: 100 });
    await semaphore.availablePermits();
    const stopwatch = new Stopwatch();
    const sent = await redis.commandsDuring(async () => {
      const waiters = Array.from({ length: 50 }, () =>
        semaphore.tryAcquire(1, { waitTimeMs: 500 }),
      );
      await Promise.all(waiters);
    });
    expect(sent.evalsha).toBeLessThanOrEqual(4 + 2 * (stopwatch.realMs / 80));
  });
});
