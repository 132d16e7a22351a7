import { describe, expect, it } from '@jest/globals';
import { RELEASE } from '../../libs/redis-lock/src/primitives/semaphore/permits.scripts.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually, seededRandom, useProxiedClients } from '../support/set-up.js';
import { permitIdsIn, timeoutOf } from '../support/redisson-permits.js';

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('SemaphoreService when an answer is lost', () => {
  const { redis, proxy, open } = useProxiedClients(SemaphoreService);

  /** A semaphore of five whose client has sent every script before. */
  const opened = async () => {
    const client = open({ connection: proxy.current.url });
    const warm = client.locks.get('warm');
    await warm.trySetPermits(1);
    await warm.setPermits(2);
    await warm.addPermits(1);
    const lease = await warm.acquire({ permits: 2 });
    await lease.renew();
    await lease.release();
    await warm.release((await warm.acquire()).permitIds);
    const semaphore = client.locks.get('a');
    await redis.admin.set('a', 5);
    return { client, semaphore };
  };

  it('counts once what was released twice, and does not call it lost', async () => {
    const { client, semaphore } = await opened();
    const lease = await semaphore.acquire({ permits: 3 });
    const fault = proxy.current.loseAnswerTo(RELEASE);
    await lease.release();
    expect(fault.hits).toBe(1);
    expect(await redis.admin.get('a')).toBe('5');
    expect(client.eventsOf('released').at(-1)).toMatchObject({ outcome: 'unknown' });
    expect(client.eventsOf('lost').filter(({ name }) => name === 'a')).toEqual([]);
  });

  it('releases what a caller gets that has gone meanwhile', async () => {
    const { client, semaphore } = await opened();
    const abort = new AbortController();
    const held = proxy.current.hold('toClient');
    const attempt = semaphore.acquire({ permits: 4, signal: abort.signal });
    const gone = expect(attempt).rejects.toThrow('gone');
    await eventually(async () => (await redis.admin.get('a')) === '1');
    abort.abort(new Error('gone'));
    await gone;
    held.heal();
    await eventually(async () => (await redis.admin.get('a')) === '5');
    expect(client.eventsOf('late-grant')).toHaveLength(1);
  });

  it('keeps count while one answer after the other is lost', async () => {
    const { semaphore } = await opened();
    const random = seededRandom('semaphore/cuts');
    const fault = proxy.current.loseReply({
      containing: 'evalsha',
      where: () => fault.hits < 6 && random.chance(0.2),
    });
    const caller = async () => {
      while (fault.hits < 6) {
        const permits = random.int(1, 3);
        await semaphore.using(() => undefined, { permits, waitTimeMs: 10_000 });
      }
    };
    await Promise.all([caller(), caller(), caller()]);
    expect(await redis.admin.get('a')).toBe('5');
    expect(await permitIdsIn(redis.admin, timeoutOf('a'))).toEqual([]);
  });
});
