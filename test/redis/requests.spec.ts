import { describe, expect, it } from '@jest/globals';
import type { CountDownLatch, CountingSemaphore } from 'nestjs-redis-lock/core';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { WaitOptions } from '../../libs/redis-lock/src/core/api/lock.js';
import { COUNT_DOWN } from '../../libs/redis-lock/src/primitives/count-down-latch/latch.scripts.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import {
  ACQUIRE,
  CHANGE,
} from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.scripts.js';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import type { LockClientOptions } from '../support/lock-client.js';
import { expectUnanswered, outagesOf } from '../support/outages.js';
import { eventually, useLocks, useProxy, useRealRedis, watch } from '../support/set-up.js';

const LONG_MS = 60_000;
/** How long a caller waits for an answer: looks or attempts, and changes. */
const [LOOK_MS, CHANGE_MS] = [1_000, 2_000];

interface Services {
  readonly latch: CountDownLatch;
  readonly semaphore: CountingSemaphore;
}

/** A number that is 5 at first, and a waiter for which 5 is not enough. */
interface Kind {
  readonly script: { readonly sha1: string };
  /** The command of the change. */
  readonly right: string;
  readonly changed: string;
  set(of: Services): Promise<unknown>;
  change(of: Services): Promise<unknown>;
  look(of: Services): Promise<unknown>;
  wait(of: Services, options: WaitOptions): Promise<unknown>;
  tryOnce(of: Services): Promise<unknown>;
}

const KINDS: [what: string, kind: Kind][] = [
  [
    'a count-down',
    {
      ...{ script: COUNT_DOWN, right: 'decr', changed: '4' },
      set: ({ latch }) => latch.trySetCount(5),
      change: ({ latch }) => latch.countDown(),
      look: ({ latch }) => latch.getCount(),
      wait: ({ latch }, options) => latch.wait(options),
      tryOnce: ({ latch }) => latch.wait({ waitTimeMs: 0 }),
    },
  ],
  [
    'a release of permits',
    {
      ...{ script: CHANGE, right: 'incrby', changed: '6' },
      set: ({ semaphore }) => semaphore.trySetPermits(5),
      change: ({ semaphore }) => semaphore.release(),
      look: ({ semaphore }) => semaphore.availablePermits(),
      wait: ({ semaphore }, options) => semaphore.acquire(7, options),
      tryOnce: ({ semaphore }) => semaphore.tryAcquire(),
    },
  ],
];

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('a request that changes a number, when its answer is lost', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, servicesOf('a'));
  const { faults, healed } = outagesOf(redis, proxy);

  /** Redis knows the scripts, so that an answer which is lost is one to a script. */
  const opened = async (settings: LockClientOptions = {}) => {
    const client = open({ connection: proxy.current.url, ...settings });
    const { latch, semaphore } = servicesOf('warm')(client.context);
    await latch.countDown();
    await semaphore.release();
    await semaphore.acquire();
    await redis.admin.del('warm');
    return client;
  };
  /** An attempt fails at once: ioredis may not send it again. */
  const notResent = () => ({
    connection: { host: '127.0.0.1', port: proxy.current.port, maxRetriesPerRequest: 0 },
  });
  const count = () => redis.admin.get('a');
  const notes = () => redis.admin.keys('nestjs_*_request:{a}:*');

  describe.each(KINDS)('%s', (_, kind) => {
    it('counts once, however often its caller is left without an answer', async () => {
      const { locks } = await opened(notResent());
      await redis.admin.set('a', 5);
      const fault = proxy.current.loseAnswerTo(kind.script, 4);
      await kind.change(locks);
      expect(fault.hits).toBe(4);
      expect(await count()).toBe(kind.changed);
    });

    it('goes on when Redis refuses it for a while, and its caller learns why', async () => {
      const { locks } = await opened();
      await redis.admin.set('a', 5);
      const changing = redis.without([kind.right], () => kind.change(locks));
      const error: unknown = await changing.catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: false, outcome: 'unknown' });
      await eventually(async () => (await count()) === kind.changed);
    });

    it('does not come after the end of the application', async () => {
      const client = await opened();
      await redis.admin.set('a', 5);
      faults.down();
      const changing = watch(kind.change(client.locks));
      await client.close();
      await expect(changing.promise).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
      await eventually(() => client.eventsOf('release-failed').length === 1);
      expect(client.eventsOf('release-failed')).toMatchObject([{ name: 'a', leased: false }]);
      await healed();
      await open().locks.latch.getCount();
      expect(await count()).toBe('5');
    });

    it.each(Object.entries(faults))(
      'arrives when Redis is back that was %s, and every call keeps its time limit',
      async (_, takeAway) => {
        const { locks, eventsOf } = await opened();
        await kind.set(locks);
        takeAway();
        const calls = [
          [kind.wait(locks, { waitTimeMs: 150 }), 150],
          [kind.tryOnce(locks), LOOK_MS],
          [kind.look(locks), LOOK_MS],
          [kind.set(locks), CHANGE_MS],
          [kind.change(locks), CHANGE_MS],
        ] as const;
        const abort = new AbortController();
        const aborted = kind.wait(locks, { signal: abort.signal, waitTimeMs: Infinity });
        const refused = expect(aborted).rejects.toThrow('no time');
        const waiting = watch(kind.wait(locks, { waitTimeMs: LONG_MS }));
        await expectUnanswered(calls);
        abort.abort(new Error('no time'));
        await refused;
        await healed();
        // Callers that gave up have nothing, and the change counts once.
        await eventually(async () => (await count()) === kind.changed);
        expect(eventsOf('release-failed')).toEqual([]);
        expect(waiting.state).toBe('pending');
        while (waiting.state === 'pending') {
          // On a slow machine Redis may not answer in time. The change is made again.
          await kind.change(locks).catch((error: unknown) => {
            expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: true });
          });
        }
        await waiting.promise;
      },
    );
  });

  it.each([
    ['a count-down', COUNT_DOWN, ({ latch }: Services) => latch.countDown()],
    ['a release', CHANGE, ({ semaphore }: Services) => semaphore.release()],
    ['an acquisition', ACQUIRE, ({ semaphore }: Services) => semaphore.acquire()],
  ])('%s that may arrive once more keeps its note', async (_, script, change) => {
    const { locks } = await opened();
    await redis.admin.set('a', 5);
    const fault = proxy.current.loseAnswerTo(script);
    await change(locks);
    expect(fault.hits).toBe(1);
    const [kept] = await notes();
    await change(locks);
    await eventually(async () => expect(await notes()).toEqual([kept]));
  });

  describe('an acquisition of permits', () => {
    /** A note in Redis forbids it to take anything, should it arrive once more. */
    const expectCancelled = () =>
      eventually(async () => {
        const [note = '', ...others] = await notes();
        expect(others).toEqual([]);
        expect(await redis.admin.get(note)).toBe('cancelled');
      });

    it('returns what it may have taken when its caller never learns the outcome', async () => {
      const { locks } = await opened(notResent());
      await redis.admin.set('a', 5);
      proxy.current.loseAnswerTo(ACQUIRE, 100);
      const acquiring = locks.semaphore.acquire(2, { waitTimeMs: 100 });
      await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_BACKEND', outcome: 'unknown' });
      await eventually(async () => (await count()) === '5');
    });

    it('takes nothing later that was sent twice, and refused', async () => {
      const { locks } = await opened();
      const fault = proxy.current.loseAnswerTo(ACQUIRE);
      expect(await locks.semaphore.tryAcquire(2)).toBe(false);
      expect(fault.hits).toBe(1);
      await expectCancelled();
    });

    it('takes nothing later that was not answered, though the next attempt was refused', async () => {
      const { locks } = await opened(notResent());
      const fault = proxy.current.loseAnswerTo(ACQUIRE);
      const acquiring = locks.semaphore.acquire(1, { waitTimeMs: 1_500 });
      await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
      expect(fault.hits).toBe(1);
      await expectCancelled();
    });

    it('takes nothing later that is refused after its caller has gone', async () => {
      const { locks } = await opened();
      const answers = proxy.current.hold('toClient');
      const abort = new AbortController();
      const acquiring = watch(locks.semaphore.acquire(1, { signal: abort.signal }));
      await eventually(() => answers.hits > 0);
      abort.abort(new Error('no time'));
      await expect(acquiring.promise).rejects.toThrow('no time');
      // The answer never comes; ioredis sends the attempt again, which is refused.
      proxy.current.cut();
      answers.heal();
      await expectCancelled();
    });
  });
});

function servicesOf(name: string) {
  return (context: LockContext): Services => ({
    latch: new LatchService(context).get(name),
    semaphore: new CountingSemaphores(context).get(name),
  });
}
