import { describe, expect, it } from '@jest/globals';
import {
  COUNT_DOWN,
  GET_COUNT,
} from '../../libs/redis-lock/src/primitives/count-down-latch/latch.scripts.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { eventually, useProxiedClients, watch } from '../support/set-up.js';
import { expectUnanswered, outagesOf } from '../support/outages.js';

const LONG_MS = 60_000;
/** How long a caller waits for an answer: looks, and changes. */
const [LOOK_MS, CHANGE_MS] = [1_000, 2_000];

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('LatchService when an answer is lost', () => {
  const { redis, proxy, open } = useProxiedClients(LatchService);

  const opened = async (settings: Parameters<typeof open>[0] = {}) => {
    const client = open({ connection: proxy.current.url, ...settings });
    const warm = client.locks.get('warm');
    await warm.trySetCount(1);
    await warm.countDown();
    await warm.delete();
    await warm.wait();
    return { ...client, latch: client.locks.get('a') };
  };

  it('keeps the note of a request that may arrive once more', async () => {
    const { latch } = await opened();
    await latch.trySetCount(3);
    proxy.current.loseAnswerTo(COUNT_DOWN);
    await latch.countDown();
    await latch.countDown();
    // Those of the requests before and after it are gone in the end.
    await eventually(async () => {
      expect(await redis.admin.keys('nestjs_latch_request:{a}:*')).toHaveLength(1);
    });
  });

  it('gets through a request that was lost before it was executed', async () => {
    const { latch } = await opened();
    await latch.trySetCount(2);
    const fault = proxy.current.loseRequest({ containing: COUNT_DOWN.sha1, times: 1 });
    expect(await latch.countDown()).toBe(1);
    expect(fault.hits).toBe(1);
  });

  it('waits on when the answer to its look is lost', async () => {
    const { latch } = await opened();
    await latch.trySetCount(1);
    const fault = proxy.current.loseAnswerTo(GET_COUNT);
    const waiting = watch(latch.wait({ waitTimeMs: LONG_MS }));
    await eventually(() => fault.hits === 1);
    await open().locks.get('a').countDown();
    expect(await waiting.promise).toBe(true);
  });

  const { faults, healed } = outagesOf(redis, proxy);

  describe.each(Object.entries(faults))('while Redis is %s', (_, takeAway) => {
    it('keeps every time limit, says that it could not ask, and counts down when it is back', async () => {
      const { latch, eventsOf } = await opened();
      await latch.trySetCount(5);
      takeAway();
      const calls = [
        [latch.wait({ waitTimeMs: 150 }), 150],
        [latch.wait({ waitTimeMs: 0 }), LOOK_MS],
        [latch.getCount(), LOOK_MS],
        [latch.trySetCount(1), CHANGE_MS],
        [latch.countDown(), CHANGE_MS],
      ] as const;
      const abort = new AbortController();
      const aborted = watch(latch.wait({ signal: abort.signal, waitTimeMs: Infinity }));
      const waiting = watch(latch.wait({ waitTimeMs: LONG_MS }));
      await expectUnanswered(calls);
      abort.abort(new Error('no time'));
      await expect(aborted.promise).rejects.toThrow('no time');
      expect(waiting.state).toBe('pending');

      await healed();
      // The count-down whose caller was left without an answer has arrived after all, once.
      await eventually(async () => (await redis.admin.get('a')) === '4');
      for (let left = 3; left >= 0; left -= 1) expect(await latch.countDown()).toBe(left);
      expect(await waiting.promise).toBe(true);
      expect(eventsOf('release-failed')).toEqual([]);
    }, 15_000);
  });

  it('counts down once however often the caller is left without an answer', async () => {
    const { latch } = await opened({ connection: { ...onProxy(), maxRetriesPerRequest: 0 } });
    await redis.admin.set('a', 2);
    const waiting = watch(open().locks.get('a').wait({ waitTimeMs: LONG_MS }));
    const fault = proxy.current.loseAnswerTo(COUNT_DOWN, 4);
    expect(await latch.countDown()).toBe(1);
    expect(fault.hits).toBe(4);
    expect(await redis.admin.get('a')).toBe('1');
    expect(waiting.state).toBe('pending');
    expect(await latch.countDown()).toBe(0);
    expect(await waiting.promise).toBe(true);
  });

  it('goes on counting down when Redis refuses for a while, and tells the caller why', async () => {
    const { latch } = await opened();
    await latch.trySetCount(2);
    await redis.admin.acl('SETUSER', 'default', '-decr');
    try {
      const error: unknown = await latch.countDown().catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: false, outcome: 'unknown' });
    } finally {
      await redis.admin.acl('SETUSER', 'default', '+@all');
    }
    await eventually(async () => (await redis.admin.get('a')) === '1');
  });

  it('leaves no count-down behind that comes after the end of the application', async () => {
    const client = await opened();
    await client.latch.trySetCount(2);
    faults.down();
    const counting = watch(client.latch.countDown());
    await client.close();
    await expect(counting.promise).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
    await eventually(() => client.eventsOf('release-failed').length === 1);
    expect(client.eventsOf('release-failed')).toMatchObject([{ name: 'a', leased: false }]);
    await healed();
    await open().locks.get('other').getCount();
    expect(await redis.admin.get('a')).toBe('2');
  });

  const onProxy = () => ({ host: '127.0.0.1', port: proxy.current.port });
});
