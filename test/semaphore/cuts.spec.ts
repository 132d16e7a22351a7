import { describe, expect, it } from '@jest/globals';
import {
  ADD,
  RELEASE_PERMITS,
  SET,
  TRY_SET,
} from '../../libs/redis-lock/src/primitives/semaphore/capacity.scripts.js';
import {
  ACQUIRE,
  RELEASE,
  RENEW,
} from '../../libs/redis-lock/src/primitives/semaphore/permits.scripts.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually } from '../support/eventually.js';
import { useLocks, useProxy } from '../support/lock-client.js';
import { seededRandom } from '../support/random.js';
import { permitIdsIn, timeoutOf } from '../support/redisson-permits.js';
import { useRedis } from '../support/redis-server.js';

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('SemaphoreService when an answer is lost', () => {
  const redis = useRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => new SemaphoreService(context));

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
  const loseAnswerTo = ({ sha1 }: { sha1: string }) =>
    proxy.current.loseReply({ containing: sha1, times: 1 });

  it('takes once what was acquired twice', async () => {
    const { semaphore } = await opened();
    const fault = loseAnswerTo(ACQUIRE);
    const lease = await semaphore.acquire({ permits: 3 });
    expect(fault.hits).toBe(1);
    expect(await redis.admin.get('a')).toBe('2');
    expect((await permitIdsIn(redis.admin, timeoutOf('a'))).sort()).toEqual(
      [...lease.permitIds].sort(),
    );
  });

  it('takes once what were the last permits', async () => {
    const { semaphore } = await opened();
    const fault = loseAnswerTo(ACQUIRE);
    expect((await semaphore.tryAcquire({ permits: 5 }))?.permitIds).toHaveLength(5);
    expect(fault.hits).toBe(1);
    expect(await redis.admin.get('a')).toBe('0');
  });

  it('gives back once what was released twice, and does not call it lost', async () => {
    const { client, semaphore } = await opened();
    const lease = await semaphore.acquire({ permits: 3 });
    const fault = loseAnswerTo(RELEASE);
    await lease.release();
    expect(fault.hits).toBe(1);
    expect(await redis.admin.get('a')).toBe('5');
    expect(client.eventsOf('released').at(-1)).toMatchObject({ outcome: 'unknown' });
    expect(client.eventsOf('lost')).toEqual([]);
  });

  it('gives back by id once, and answers as it did the first time', async () => {
    const { semaphore } = await opened();
    const [first, second] = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire()];
    const fault = loseAnswerTo(RELEASE_PERMITS);
    expect(await semaphore.tryRelease(first.permitIds)).toBe(true);
    const again = loseAnswerTo(RELEASE_PERMITS);
    await semaphore.release(second.permitIds);
    expect([fault.hits, again.hits]).toEqual([1, 1]);
    expect(await redis.admin.get('a')).toBe('5');
    const refused = loseAnswerTo(RELEASE_PERMITS);
    expect(await semaphore.tryRelease(first.permitIds)).toBe(false);
    expect(refused.hits).toBe(1);
  });

  it('adds once what was added twice', async () => {
    const { semaphore } = await opened();
    const fault = loseAnswerTo(ADD);
    await semaphore.addPermits(3);
    expect(fault.hits).toBe(1);
    expect(await redis.admin.get('a')).toBe('8');
  });

  it('has set the permits itself when it is asked twice', async () => {
    const { semaphore } = await opened();
    await redis.admin.del('a');
    const [fault, set] = [loseAnswerTo(TRY_SET), loseAnswerTo(SET)];
    expect(await semaphore.trySetPermits(3)).toBe(true);
    await semaphore.setPermits(4);
    expect([fault.hits, set.hits]).toEqual([1, 1]);
    expect(await redis.admin.get('a')).toBe('4');
  });

  it('prolongs by renew() once more, which does no harm', async () => {
    const { semaphore } = await opened();
    const lease = await semaphore.acquire({ permits: 2, leaseTimeMs: 10_000 });
    const fault = loseAnswerTo(RENEW);
    await lease.renew(20_000);
    expect(fault.hits).toBe(1);
    expect(lease.remainingMs).toBeGreaterThan(15_000);
  });

  it('gives back what a caller gets who has gone meanwhile', async () => {
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
