import { describe, expect, it } from '@jest/globals';
import { deliver } from '../../../../../test/support/deliver.js';
import { seededRandom } from '../../../../../test/support/random.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import { fairKeysOf, JavaFairLock } from '../../../../../test/support/redisson-fair.js';
import type { Script } from '../../core/redis/script.js';
import { ACQUIRE, RELEASE, PASS, CANCEL } from './fair-lock.scripts.js';

const CHANNEL = 'redisson_lock__channel:{k}';
const { queue, timeouts, waiting } = fairKeysOf('k');
const KEYS = ['k', queue, timeouts, waiting];
const SIZE = 200;
const JAVA_MS = 70_000;
/** The difference between two clocks of one machine, for each owner that acquires. */
const SLACK_MS = 5_000;

interface Waiter {
  readonly owner: string;
  readonly waitMs: number;
  readonly java?: JavaFairLock;
}

describe('the scripts of the fair lock before a long queue', () => {
  const redis = useRedis();
  const run = <R>(
    script: Script<string, string, R>,
    args: Readonly<Record<string, string | number>>,
  ) => deliver(redis.admin, script, KEYS, args);
  const enter = (owner: string, waitMs: number) => {
    const usual = { leaseMs: 600_000, aliveMs: 600_000, askedAt: 0, terms: '' };
    return run(ACQUIRE, { ...usual, channelPrefix: CHANNEL, owner, waitMs });
  };
  const score = async (owner: string) => Number(await redis.admin.zscore(timeouts, owner));

  /** One holder, and waiters of three processes and of Java. */
  const gather = async (isJava: (i: number) => boolean) => {
    await enter('a:0', 0);
    const waiters: Waiter[] = [];
    for (let i = 1; i <= SIZE; i += 1) {
      const java = isJava(i) ? new JavaFairLock(redis.admin, 'k', i) : undefined;
      const waiter = { owner: java?.owner ?? `${'abc'.charAt(i % 3)}:${i}`, java };
      const waitMs = java === undefined ? 1_000 * (1 + (i % 50)) : JAVA_MS;
      if (java === undefined) await enter(waiter.owner, waitMs);
      else await java.tryLock(waitMs);
      waiters.push({ ...waiter, waitMs } as Waiter);
    }
    const first = waiters[0]?.owner ?? '';
    return { waiters, leaseEnd: (await score(first)) - (waiters[0]?.waitMs ?? 0) };
  };

  /** Redisson's score: the end of the lease, and the wait times up to this waiter. */
  const expectAccount = async (waiters: readonly Waiter[], leaseEnd: number, count: number) => {
    let sum = leaseEnd;
    for (const { owner, waitMs } of waiters.slice(0, count)) {
      sum += waitMs;
      const off = (await score(owner)) - sum;
      expect(Math.abs(off)).toBeLessThan(SLACK_MS);
    }
  };

  it.each(['fair-crowd/1', 'fair-crowd/2', 'fair-crowd/3'])(
    'give a Java thread the score that it has in Redisson, when it is next: %s',
    async (seed) => {
      const random = seededRandom(seed);
      const { waiters, leaseEnd } = await gather((i) => i % 20 === 0);
      await expectAccount(waiters, leaseEnd, SIZE);
      let holder = 'a:0';
      let javaHeads = 0;
      while (waiters.length > 0) {
        const [head] = waiters;
        if (head?.java !== undefined) {
          javaHeads += 1;
          await expectAccount(waiters, leaseEnd, 1);
          if (random.next() < 0.5) await head.java.giveUp(head.waitMs);
          else {
            await run(RELEASE, { owner: holder, channelPrefix: CHANNEL });
            expect(await head.java.tryLock(head.waitMs)).toBeNull();
            await head.java.unlock();
            await redis.admin.del('k');
            await redis.admin.hset('k', (holder = 'a:0'), 1);
            await redis.admin.pexpire('k', 600_000);
          }
          waiters.shift();
        } else if (random.next() < 0.7) {
          const args = { successor: head?.owner ?? '', leaseMs: 600_000, starts: 1 };
          const answer = await run(PASS, { ...args, owner: holder, channelPrefix: CHANNEL });
          expect(answer).toBe('passed');
          holder = head?.owner ?? '';
          waiters.shift();
        } else {
          const place = random.int(0, waiters.length - 1);
          const [leaving] = waiters.splice(place, 1);
          const { owner = '', waitMs = 0, java } = leaving ?? {};
          if (java === undefined) await run(CANCEL, { owner, waitMs, channelPrefix: CHANNEL });
          else await java.giveUp(waitMs);
        }
      }
      expect(javaHeads).toBeGreaterThan(0);
      expect(await redis.admin.exists(queue, timeouts, waiting)).toBe(0);
    },
  );

  it('change no scores while all that wait are ours', async () => {
    await gather(() => false);
    const last = `${'abc'.charAt(SIZE % 3)}:${SIZE}`;
    const before = await score(last);
    const sent = await redis.commandsDuring(async () => {
      await run(PASS, {
        ...{ owner: 'a:0', successor: 'b:1', leaseMs: 600_000, starts: 1, channelPrefix: CHANNEL },
      });
      for (const owner of ['b:100', 'c:2', last])
        await run(CANCEL, { owner, waitMs: 1, channelPrefix: CHANNEL });
    });
    expect(before).toBeGreaterThan(0);
    expect(sent).not.toHaveProperty('zadd');
    expect((await redis.admin.hget(waiting, 'ahead')) ?? '').toMatch(/^\d+$/);
  });
});
