import { describe, expect, it } from '@jest/globals';
import { FairLockService } from 'nestjs-redis-lock/core';
import { CANCEL_STRAYS } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import {
  channelOf,
  eventually,
  PROMPT_MS,
  Stopwatch,
  useRealClients,
  watch,
  type LockClient,
} from '../support/set-up.js';
import { serverNow } from '../support/moments.js';
import { JavaFairLock } from '../support/redisson-fair.js';
import { FairView } from './fair-view.js';

type Client = LockClient<FairLockService>;

/** The default of `pollIntervalMs`. */
const POLL_MS = 1_000;
const PATIENT = { waitTimeMs: 60_000 };

/** Redis goes on with an older copy of its data: waiters that were served stand in the queue again. */
describe('a fair lock with waiters that no longer wait', () => {
  const { redis, open } = useRealClients(FairLockService);
  const view = new FairView(redis, 'a');
  const { keys } = view;

  /** Writes the queue of this moment back later. */
  const copied = async () => {
    const names = Object.values(keys);
    const dumps = await Promise.all(names.map((key) => redis.admin.dumpBuffer(key)));
    return async () => {
      for (const [i, key] of names.entries()) {
        await redis.admin.restore(key, 0, dumps[i] ?? '', 'REPLACE');
        await redis.admin.pexpire(key, 60_000);
      }
    };
  };
  /** Each record says that its waiter cannot be told of a grant. */
  const untold = async () => {
    for (const [owner, record] of Object.entries(await view.records())) {
      await redis.admin.hset(keys.waiting, owner, record.split(' ').slice(0, 2).join(' '));
    }
  };
  const noChannelIsLeft = () =>
    eventually(async () => ((await redis.admin.pubsub('CHANNELS')) as string[]).length === 0);

  /** So many callers of each client are served, and are in the queue of the copy. */
  const servedAndBack = async (clients: readonly Client[], each: number, isTold = true) => {
    const holder = open();
    const held = await holder.locks.acquire('a');
    const callers: Promise<unknown>[] = [];
    for (let i = 0; i < each; i += 1) {
      for (const { locks } of clients) {
        callers.push(locks.using('a', () => undefined, PATIENT));
        await eventually(async () => (await view.queue()).length === callers.length, {
          everyMs: 1,
        });
      }
    }
    await view.allWaitersListen();
    const goBack = await copied();
    await held.release();
    await Promise.all(callers);
    await noChannelIsLeft();
    await goBack();
    if (!isTold) await untold();
    expect(await view.queue()).toHaveLength(callers.length);
  };
  const clients = (count: number) => Array.from({ length: count }, () => open());

  const served = ({ locks }: Client, count: number) =>
    Promise.all(Array.from({ length: count }, () => locks.using('a', () => undefined, PATIENT)));

  describe.each([true, false])('that could be told of a grant: %s', (isTold) => {
    it.each([12, 30, 100])(
      'is granted as if %d of them were not there, to each caller in turn',
      async (count) => {
        const [client] = clients(1) as [Client];
        await servedAndBack([client], count, isTold);
        const stopwatch = new Stopwatch();
        for (let i = 0; i < 5; i += 1) await served(client, 1);
        expect(stopwatch.ms).toBeLessThan(5 * POLL_MS);
        expect(await view.queue()).toEqual([]);
      },
    );

    it('is granted to callers of several processes, whose entries are mixed', async () => {
      const all = clients(3);
      await servedAndBack(all, 10, isTold);
      const stopwatch = new Stopwatch();
      await Promise.all(all.map((client) => served(client, 5)));
      expect(stopwatch.ms).toBeLessThan(5 * POLL_MS);
      // A process removes its own when it next comes to a free lock.
      for (const client of all) await served(client, 1);
      expect(await view.queue()).toEqual([]);
    });

    it('is granted to another process while theirs does not wait', async () => {
      const [client, other] = clients(2) as [Client, Client];
      await servedAndBack([client], 12, isTold);
      const stopwatch = new Stopwatch();
      await served(other, 3);
      // Their process counts as alive for a while: only those that could be told are asked.
      expect(stopwatch.ms).toBeLessThan(isTold ? PROMPT_MS : 5_000 + PROMPT_MS);
    });

    it('keeps the order of those that do wait, and lets in a Java thread behind them', async () => {
      const [client] = clients(1) as [Client];
      await servedAndBack([client], 12, isTold);
      const java = new JavaFairLock(redis.admin, 'a');
      const strays = await view.queue();
      expect(await java.tryLock()).not.toBeNull();
      const waiter = watch(client.locks.acquire('a', PATIENT));
      await eventually(async () => (await view.queue())[0] === java.owner);
      expect((await view.queue()).filter((owner) => strays.includes(owner))).toEqual([]);
      expect(waiter.state).toBe('pending');
      expect(await java.tryLock()).toBeNull();
      await java.unlock();
      await (await waiter.promise).release();
    });
  });

  it('removes only those that its process does not know', async () => {
    const [client] = clients(1) as [Client];
    await servedAndBack([client], 12);
    const held = await client.locks.acquire('a');
    const waiters = [await view.enqueue(client.locks), await view.enqueue(client.locks)];
    await view.allWaitersListen();
    const owners = waiters.map(({ owner }) => owner);
    const script = { owners: [`${client.context.id}:1`, held.owner].join(' ') };
    await view.run(CANCEL_STRAYS, { ...script, channelPrefix: channelOf('a') });
    expect(await view.queue()).toEqual(owners);
    expect(await view.holder()).toBe(held.owner);
    await held.release();
    for (const { promise } of waiters) await (await promise).release();
  });

  describe('after the clock of Redis was set back', () => {
    const SET_BACK_MS = 60_000;
    const DEAD = 'dead0000-0000-4000-8000-000000000001:7';
    /** A process died that asked by the clock from before. */
    const died = async (terms: string) => {
      await view.enter({ owner: DEAD, terms, aliveMs: 1_000 });
      const process = DEAD.split(':')[0] ?? '';
      const until = (await serverNow(redis.admin)) + SET_BACK_MS;
      await redis.admin.hset(keys.waiting, process, `${String(until)} 1 0 1000`);
    };
    const holds = async (client: Client) => {
      await view.enter({ owner: `${DEAD}0` });
      await redis.admin.pexpire('a', 60_000);
      return client;
    };

    it.each([
      ['could be told', `${'ab'.repeat(16)} 4000 s`, 0],
      ['could not be told', '', 1_000],
    ])('does not wait longer for a dead head that %s', async (_, terms, aliveMs) => {
      const client = await holds(open());
      await died(terms);
      await redis.admin.del('a');
      const stopwatch = new Stopwatch();
      await served(client, 3);
      expect(stopwatch.ms).toBeLessThan(5 * (aliveMs + POLL_MS));
      await redis.admin.del(...Object.values(keys));
    });
  });
});
