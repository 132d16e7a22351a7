import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CountingSemaphore } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.js';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { expectToFollowModel, useRepeatingClients, type Step } from '../support/model.js';
import { eventually, useRedis } from '../support/set-up.js';

const NAMES = ['payment', '{shop}:payment'] as const;
const CLIENTS = 2;

/** The free permits of each semaphore that there is. */
interface Model {
  readonly free: Map<string, number>;
}

describe('CountingSemaphore and its model', () => {
  const redis = useRedis({ flush: false });
  const clients = useRepeatingClients(redis, CLIENTS, (context) => new CountingSemaphores(context));

  const onSemaphore = (
    what: string,
    run: (semaphore: CountingSemaphore, model: Model, n: number) => Promise<void>,
  ) =>
    fc
      .record({
        client: fc.nat({ max: CLIENTS - 1 }),
        name: fc.constantFrom(...NAMES),
        n: fc.integer({ min: 1, max: 5 }),
      })
      .map(({ client, name, n }): Step<Model> => ({
        shows: `client ${String(client)}: ${name} ${what} ${String(n)}`,
        run: (model) => run((clients.all[client] as CountingSemaphores).get(name), model, n),
      }));
  const freeOf = ({ free }: Model, { name }: CountingSemaphore) => free.get(name) ?? 0;

  const sets = onSemaphore('is set to', async (semaphore, { free }, n) => {
    const isNew = !free.has(semaphore.name);
    expect(await semaphore.trySetPermits(n)).toBe(isNew);
    if (isNew) free.set(semaphore.name, n);
  });

  const takes = onSemaphore('is asked for', async (semaphore, model, n) => {
    const free = freeOf(model, semaphore);
    expect(await semaphore.tryAcquire(n)).toBe(free >= n);
    if (free >= n) model.free.set(semaphore.name, free - n);
  });

  const takesTogether = onSemaphore('is asked by many for', async (semaphore, model, n) => {
    const free = Math.max(0, freeOf(model, semaphore));
    const answers = await Promise.all(
      [1, 2, 3].map(() => semaphore.tryAcquire(n, { waitTimeMs: free >= 3 * n ? 60_000 : 0 })),
    );
    const taken = answers.filter(Boolean).length;
    expect(taken).toBeLessThanOrEqual(Math.floor(free / n));
    if (free >= n) expect(taken).toBeGreaterThan(0);
    if (taken > 0) model.free.set(semaphore.name, free - taken * n);
  });

  const waits = onSemaphore('is waited for, and gets', async (semaphore, model, n) => {
    const free = freeOf(model, semaphore);
    const missing = Math.max(1, n - free);
    const waiting = semaphore.acquire(free + missing);
    await semaphore.release(missing);
    await waiting;
    model.free.set(semaphore.name, 0);
  });

  const abandons = onSemaphore('is no longer waited for', async (semaphore, model, n) => {
    const abort = new AbortController();
    const waiting = semaphore.acquire(n, { signal: abort.signal, waitTimeMs: 60_000 });
    abort.abort(new Error('no time'));
    await expect(waiting).rejects.toThrow('no time');
    const expected = model.free.has(semaphore.name) ? String(freeOf(model, semaphore)) : null;
    await eventually(async () => {
      await semaphore.availablePermits();
      expect(await redis.admin.get(semaphore.name)).toBe(expected);
    });
  });

  const gives = onSemaphore('is given', async (semaphore, model, n) => {
    await semaphore.release(n);
    model.free.set(semaphore.name, freeOf(model, semaphore) + n);
  });

  const givesIfThere = onSemaphore('is given, if there,', async (semaphore, model, n) => {
    const isThere = model.free.has(semaphore.name);
    expect(await semaphore.releaseIfExists(n)).toBe(isThere);
    if (isThere) model.free.set(semaphore.name, freeOf(model, semaphore) + n);
  });

  const shrinks = onSemaphore('shrinks by', async (semaphore, model, n) => {
    await semaphore.addPermits(-n);
    model.free.set(semaphore.name, freeOf(model, semaphore) - n);
  });

  const drains = onSemaphore('is drained', async (semaphore, model) => {
    expect(await semaphore.drainPermits()).toBe(freeOf(model, semaphore));
    if (model.free.has(semaphore.name)) model.free.set(semaphore.name, 0);
  });

  const loses = fc.constantFrom(...NAMES).map((name): Step<Model> => ({
    shows: `another client deletes ${name}`,
    run: async ({ free }) => {
      await redis.admin.del(name);
      free.delete(name);
    },
  }));

  async function begin() {
    await redis.admin.del(...NAMES);
    return { model: { free: new Map<string, number>() }, real: undefined };
  }

  async function agree({ free }: Model) {
    for (const name of NAMES) {
      expect(await redis.admin.get(name)).toBe(free.get(name)?.toString() ?? null);
    }
  }

  it('agrees with it in any sequence of calls, losses and repeated scripts', async () => {
    const steps = [
      ...[sets, takes, takesTogether, waits, abandons, gives, givesIfThere],
      ...[shrinks, drains, loses],
    ];
    await expectToFollowModel('counting-semaphore', clients, steps, begin, agree);
  });
});
