import { afterEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import {
  RELEASE,
  PASS,
  CANCEL,
} from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import { expectCosts } from '../support/costs.js';
import { channelOf, eventually, useLocks, useRedis } from '../support/set-up.js';
import { FairView } from './fair-view.js';

const MANY = 10_000;

describe('what a fair lock costs', () => {
  const redis = useRedis();
  const view = new FairView(redis, 'a');
  const ears: Redis[] = [];
  afterEach(() => {
    for (const ear of ears.splice(0)) ear.disconnect();
  });
  const open = useLocks(redis, (context) => new FairLockService(context));
  const channelPrefix = channelOf('a');
  const enter = (owner: string) => () => view.enter({ owner });
  const leave = (owner: string) => () => view.run(RELEASE, { owner, channelPrefix });
  const cancel = (owner: string) => () =>
    view.run(CANCEL, { owner, waitMs: 300_000, channelPrefix });

  const pass = (owner: string, successor: string) => () =>
    view.run(PASS, { owner, successor, leaseMs: 30_000, starts: 1, channelPrefix });

  it('is what docs/internals/fair-lock.md says, in Redis commands', async () => {
    const ear = redis.admin.duplicate();
    ears.push(ear);
    await ear.subscribe(`${channelPrefix}:a:5`);
    const terms = `${'ab'.repeat(16)} 3000 s`;
    await expectCosts(redis, 'internals/fair-lock.md', [
      ['acquire a free lock', enter('a:1')],
      ['enter the queue', enter('a:2')],
      ['enter it behind others', enter('a:3')],
      ['poll as the first', enter('a:2')],
      ['poll behind others', enter('a:3')],
      ['release with a waiter', leave('a:1')],
      ['acquire with one behind', enter('a:2')],
      ['give up as the last', cancel('a:3')],
      ['release without a waiter', leave('a:2')],
      [
        'hand over to another process',
        leave('a:4'),
        async () => {
          await enter('a:4')();
          await view.enter({ owner: 'a:5', terms });
        },
      ],
      ['hand over within the process', pass('a:5', 'a:6'), enter('a:6')],
    ]);
  });

  it('is one script per step of a waiter, and one more when its subscription stands', async () => {
    const [holder, waiter] = [open(), open({ pollIntervalMs: 60_000 })];
    const lease = await holder.locks.acquire('a');
    await waiter.locks.tryAcquire('b').then((b) => b?.release());
    const sent = await redis.commandsDuring(async () => {
      const waiting = await view.enqueue(waiter.locks);
      await view.allWaitersListen();
      await lease.release();
      await (await waiting.promise).release();
      await eventually(
        async () => ((await redis.admin.pubsub('CHANNELS')) as string[]).length === 0,
      );
    });
    expect((sent.evalsha ?? 0) + (sent.eval ?? 0)).toBeLessThanOrEqual(5 + (sent.eval ?? 0));
    expect(sent).toMatchObject({ subscribe: 1, unsubscribe: 1, publish: 1 });
  });

  it('does not grow with the queue, but for the time that the accounting of Redisson takes', async () => {
    const { queue, timeouts, waiting } = view.keys;
    const owners = Array.from({ length: MANY }, (_, i) => `a:${String(i)}`);
    const [seconds = 0] = (await redis.admin.time()).map(Number);
    for (let from = 0; from < MANY; from += 1_000) {
      const some = owners.slice(from, from + 1_000);
      await redis.admin.rpush(queue, ...some);
      const score = (i: number) => (seconds + 300 * (from + i + 2)) * 1_000;
      await redis.admin.zadd(timeouts, ...some.flatMap((owner, i) => [score(i), owner]));
      const record = (i: number) => `300000 ${String(from + i)}`;
      await redis.admin.hset(waiting, ...some.flatMap((owner, i) => [owner, record(i)]));
    }
    await redis.admin.hset(
      waiting,
      'a',
      `${String((seconds + 900) * 1_000)} ${String(MANY)} 0 5000000`,
    );
    const cost = async (step: () => Promise<unknown>) => {
      const counts = await redis.commandsDuring(step);
      const ms = Number(
        /cmdstat_eval:.*?usec=(\d+)/.exec(await redis.admin.info('commandstats'))?.[1] ?? 0,
      );
      const { eval: _, ...inner } = counts;
      const total = Object.values(inner).reduce((sum, count) => sum + count, 0);
      return { total, ms: ms / 1_000 };
    };
    const costs = {
      taken: await cost(enter('a:0')),
      entered: await cost(enter('b:1')),
      polled: await cost(enter(`a:${String(MANY / 2)}`)),
      released: await cost(leave('a:0')),
      'given up': await cost(cancel('b:1')),
    };
    for (const [what, { total, ms }] of Object.entries(costs)) {
      process.stdout.write(`${what} with ${MANY} waiting: ${total} commands, ${ms} ms\n`);
      expect(total).toBeLessThan(40);
    }
  });
});
