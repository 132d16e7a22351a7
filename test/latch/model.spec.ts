import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CountDownLatch } from '../../libs/redis-lock/src/primitives/count-down-latch/latch.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { expectToFollowModel, useRepeatingClients, type Step } from '../support/model.js';
import { useRedis } from '../support/redis-server.js';

const NAMES = ['sale', '{shop}:sale'] as const;
const CLIENTS = 2;

/** The count that is left of each latch; an open latch has none. */
interface Model {
  readonly left: Map<string, number>;
}

describe('LatchService and its model', () => {
  const redis = useRedis({ flush: false });
  const clients = useRepeatingClients(redis, CLIENTS, (context) => new LatchService(context));

  const onLatch = (
    what: string,
    run: (latch: CountDownLatch, model: Model, n: number) => Promise<void>,
  ) =>
    fc
      .record({
        client: fc.nat({ max: CLIENTS - 1 }),
        name: fc.constantFrom(...NAMES),
        n: fc.integer({ min: 1, max: 4 }),
      })
      .map(({ client, name, n }): Step<Model> => ({
        shows: `client ${String(client)}: ${name} ${what} (${String(n)})`,
        run: (model) => run((clients.all[client] as LatchService).get(name), model, n),
      }));

  const sets = onLatch('is set', async (latch, { left }, n) => {
    expect(await latch.trySetCount(n)).toBe(!left.has(latch.name));
    if (!left.has(latch.name)) left.set(latch.name, n);
  });

  const countsDown = onLatch('is counted down', async (latch, { left }) => {
    const expected = Math.max(0, (left.get(latch.name) ?? 0) - 1);
    expect(await latch.countDown()).toBe(expected);
    if (expected === 0) left.delete(latch.name);
    else left.set(latch.name, expected);
  });

  const countsDownTogether = onLatch('is counted down by many', async (latch, { left }, n) => {
    const before = left.get(latch.name) ?? 0;
    const answers = await Promise.all(Array.from({ length: n }, () => latch.countDown()));
    const expected = Array.from({ length: n }, (_, i) => Math.max(0, before - 1 - i));
    expect(answers.toSorted()).toEqual(expected.toSorted());
    if (before <= n) left.delete(latch.name);
    else left.set(latch.name, before - n);
  });

  const looks = onLatch('is looked at', async (latch, { left }) => {
    expect(await latch.wait({ waitTimeMs: 0 })).toBe(!left.has(latch.name));
  });

  const opens = onLatch('is waited for until it opens', async (latch, { left }) => {
    const waiting = latch.wait({ waitTimeMs: 60_000 });
    for (let i = left.get(latch.name) ?? 0; i > 0; i -= 1) await latch.countDown();
    expect(await waiting).toBe(true);
    left.delete(latch.name);
  });

  const deletes = onLatch('is deleted', async (latch, { left }) => {
    expect(await latch.delete()).toBe(left.delete(latch.name));
  });

  const loses = fc.constantFrom(...NAMES).map((name): Step<Model> => ({
    shows: `another client deletes ${name}`,
    run: async ({ left }) => {
      await redis.admin.del(name);
      left.delete(name);
    },
  }));

  async function begin() {
    await redis.admin.del(...NAMES);
    return { model: { left: new Map<string, number>() }, real: undefined };
  }

  async function agree({ left }: Model) {
    for (const name of NAMES) {
      expect(await redis.admin.get(name)).toBe(left.get(name)?.toString() ?? null);
      const [latch] = clients.all;
      expect(await latch?.get(name).getCount()).toBe(left.get(name) ?? 0);
    }
  }

  it('agrees with it in any sequence of calls, losses and repeated scripts', async () => {
    const steps = [sets, countsDown, countsDownTogether, looks, opens, deletes, loses];
    await expectToFollowModel('latch', clients, steps, begin, agree);
  });
});
