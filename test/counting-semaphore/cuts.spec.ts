import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from 'nestjs-redis-lock';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { ACQUIRE } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.scripts.js';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { eventually, useProxiedClients, watch } from '../support/set-up.js';
import { expectUnanswered, outagesOf } from '../support/outages.js';
import { PassThrough } from '../support/pass-through.js';

const LONG_MS = 60_000;
/** How long a caller waits for an answer: looks or attempts, and changes. */
const [LOOK_MS, CHANGE_MS] = [1_000, 2_000];

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('CountingSemaphore when an answer is lost', () => {
  const { redis, proxy, open } = useProxiedClients(CountingSemaphores);

  const onProxy = () => ({ host: '127.0.0.1', port: proxy.current.port });
  const opened = async (settings: Parameters<typeof open>[0] = {}) => {
    const client = open({ connection: proxy.current.url, ...settings });
    const warm = client.locks.get('warm');
    await warm.trySetPermits(1);
    await warm.acquire();
    await warm.release();
    await warm.drainPermits();
    return { ...client, semaphore: client.locks.get('a') };
  };
  const free = async () => Number(await redis.admin.get('a'));

  /** A note in Redis forbids a request to take anything, should it arrive once more. */
  const expectCancelled = () =>
    eventually(async () => {
      const notes = await redis.admin.keys('nestjs_semaphore_request:{a}:*');
      expect(notes).toHaveLength(1);
      expect(await redis.admin.get(notes[0] ?? '')).toBe('cancelled');
    });

  it('takes back what an attempt may have got whose outcome its caller never learns', async () => {
    // ioredis may not send anything again: the attempt fails although it was executed.
    const client = await opened({ connection: { ...onProxy(), maxRetriesPerRequest: 0 } });
    await redis.admin.set('a', 5);
    const answers = proxy.current.loseAnswerTo(ACQUIRE, 100);
    const acquiring = client.semaphore.acquire(2, { waitTimeMs: 100 });
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_BACKEND', outcome: 'unknown' });
    answers.heal();
    await eventually(async () => (await free()) === 5);
  });

  it('lets nothing be taken by a request that arrives after its caller has gone', async () => {
    const { semaphore } = await opened();
    await redis.admin.set('a', 5);
    const held = proxy.current.hold('toServer', { containing: ACQUIRE.sha1, times: 1 });
    const acquiring = semaphore.acquire(2, { waitTimeMs: 60_000 });
    await eventually(() => held.hits === 1);
    // Only the client's side: what is held reaches Redis long after the client has sent it again.
    const present = proxy.current.counts.accepted;
    for (const connection of proxy.current.connections) {
      if (!connection.subscriber && connection.index <= present) connection.cut('rst', 'client');
    }
    await acquiring;
    expect(await free()).toBe(3);
    await semaphore.release(2);
    held.heal();
    await eventually(async () => (await redis.clients()).length <= 2);
    expect(await free()).toBe(5);
  });

  it('forbids a refused attempt, that was sent twice, to take anything later', async () => {
    const { semaphore } = await opened();
    const fault = proxy.current.loseAnswerTo(ACQUIRE);
    expect(await semaphore.tryAcquire(2)).toBe(false);
    expect(fault.hits).toBe(1);
    await expectCancelled();
  });

  it('forbids an attempt without an answer to take anything later, though the next was refused', async () => {
    const client = await opened({ connection: { ...onProxy(), maxRetriesPerRequest: 0 } });
    const fault = proxy.current.loseAnswerTo(ACQUIRE);
    const acquiring = client.semaphore.acquire(1, { waitTimeMs: 1_500 });
    await expect(acquiring).rejects.toThrow(LockTimeoutError);
    expect(fault.hits).toBe(1);
    await expectCancelled();
  });

  it('forbids an attempt that is refused after its caller has gone', async () => {
    const { semaphore } = await opened();
    const answers = proxy.current.hold('toClient');
    const abort = new AbortController();
    const acquiring = watch(semaphore.acquire(1, { signal: abort.signal }));
    await eventually(() => answers.hits > 0);
    abort.abort(new Error('no time'));
    await expect(acquiring.promise).rejects.toThrow('no time');
    // The answer never comes; ioredis sends the attempt again, which is refused.
    proxy.current.cut();
    answers.heal();
    await expectCancelled();
  });

  it('releases what is granted in the very turn in which the signal aborts', async () => {
    const { semaphore, context } = await opened();
    await semaphore.release(50);
    for (let hops = 0; hops < 20; hops += 1) {
      const abort = new AbortController();
      const hop = (left: number) =>
        queueMicrotask(() => (left === 0 ? abort.abort(new Error('no time')) : hop(left - 1)));
      const aborting = new (class extends PassThrough {
        protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
          const reply = await run();
          if (script === ACQUIRE.name) hop(hops);
          return reply;
        }
      })(context.connection);
      const service = new CountingSemaphores(new LockContext(aborting));
      const acquiring = service.get('a').acquire(2, { signal: abort.signal });
      await acquiring.then(
        () => semaphore.release(2),
        (error: unknown) => expect(error).toBe(abort.signal.reason),
      );
      await eventually(async () => (await free()) === 50);
    }
  });

  const { faults, healed } = outagesOf(redis, proxy);

  describe.each(Object.entries(faults))('while Redis is %s', (_, takeAway) => {
    it('keeps every time limit, says that it could not ask, and loses no permit', async () => {
      const { semaphore, eventsOf } = await opened();
      await semaphore.trySetPermits(5);
      await semaphore.acquire(2);
      takeAway();
      const calls = [
        [semaphore.acquire(1, { waitTimeMs: 150 }), 150],
        [semaphore.tryAcquire(1, { waitTimeMs: 200 }), 200],
        [semaphore.tryAcquire(1), LOOK_MS],
        [semaphore.availablePermits(), LOOK_MS],
        [semaphore.release(2), CHANGE_MS],
      ] as const;
      const abort = new AbortController();
      const aborted = watch(semaphore.acquire(1, { signal: abort.signal, waitTimeMs: Infinity }));
      const waiting = watch(semaphore.acquire(4, { waitTimeMs: LONG_MS }));
      await expectUnanswered(calls);
      abort.abort(new Error('no time'));
      await expect(aborted.promise).rejects.toThrow('no time');
      expect(waiting.state).toBe('pending');

      await healed();
      // The release has arrived after all, once; the callers that gave up have nothing.
      await waiting.promise;
      await eventually(async () => (await free()) === 1);
      await semaphore.release(4);
      expect(await free()).toBe(5);
      expect(eventsOf('release-failed')).toEqual([]);
    }, 15_000);
  });

  it('tells why a release is refused, and releases when it is no more', async () => {
    const { semaphore } = await opened();
    await redis.admin.set('a', 1);
    await redis.admin.acl('SETUSER', 'default', '-incrby');
    try {
      const error: unknown = await semaphore.release().catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: false, outcome: 'unknown' });
    } finally {
      await redis.admin.acl('SETUSER', 'default', '+@all');
    }
    await eventually(async () => (await free()) === 2);
  });

  it('is refused while Redis has no memory, and loses no permit by it', async () => {
    const { semaphore } = await opened();
    await redis.admin.set('a', 2);
    await semaphore.acquire();
    await redis.admin.config('SET', 'maxmemory', '1');
    try {
      await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
      await expect(semaphore.release()).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
      expect(await free()).toBe(1);
    } finally {
      await redis.admin.config('SET', 'maxmemory', '0');
    }
    await eventually(async () => (await free()) === 2);
  });

  it('starts from nothing after a restart without data', async () => {
    const client = open();
    const semaphore = client.locks.get('a');
    await semaphore.trySetPermits(5);
    const waiting = semaphore.acquire(6, { waitTimeMs: LONG_MS });
    await redis.restart();
    await eventually(async () => (await semaphore.availablePermits()) === 0);
    await semaphore.addPermits(6);
    await waiting;
  }, 15_000);
});
