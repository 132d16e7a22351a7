import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Redis } from 'ioredis';

import { FaultProxy } from '../support/fault-proxy.js';
import type { ProxiedConnection } from '../support/proxied-connection.js';
import { seededRandom, useRealRedis, useWorkers } from '../support/set-up.js';
import { callersClient, type Application } from './support/application.js';
import { useApplications } from './support/applications.js';
import { handOver, handOversOf, listenersOn } from './support/hand-over.js';
import { telling } from './support/history.js';
import { pause } from './support/pace.js';
import { survive } from './support/survive.js';
import { ROUND_TRIP_MS } from './support/lab.js';

/** The poll comes so late that it did not find the lock for a waiter that got in. */
const NEVER_POLL_MS = 60_000;
/** The longest pause of the message connection between two tries to connect. */
const RECONNECT_MS = 250;
/** How soon a connection that fell silent is noticed. */
const SILENCE_MS = 2_000;

describe('a waiter', () => {
  const redis = useRealRedis();
  const referee = useRealRedis();
  const workers = useWorkers();
  const open = useApplications();
  const listeners = listenersOn(redis);
  let proxy: FaultProxy;
  let holder: Application;
  let client: Redis | undefined;

  beforeEach(async () => {
    proxy = await FaultProxy.start({ port: redis.port });
    holder = open(redis.url);
  });
  afterEach(async () => {
    client?.disconnect();
    client = undefined;
    await proxy.close();
  });

  const openWaiter = (pollIntervalMs: number) => open(proxy.url, { settings: { pollIntervalMs } });

  it('waits no longer than the poll when messages get lost', async () => {
    const pollIntervalMs = 200;
    const waiter = openWaiter(pollIntervalMs);
    const lost = proxy.drop('toClient', { containing: '\r\nmessage\r\n' });
    const waits = await handOversOf(
      { holder, waiter, listeners },
      { keys: 100, until: () => lost.hits >= 400 },
    );
    expect(Math.max(...waits)).toBeLessThan(5 * (pollIntervalMs + ROUND_TRIP_MS));
  });

  it('gets in by message alone when its subscriber is killed every 50 to 500 ms', async () => {
    await telling('subscriber kills', async (story) => {
      const random = seededRandom('subscriber-kills');
      const waiter = openWaiter(NEVER_POLL_MS);
      let kills = 0;
      const killing = (async () => {
        for (; kills < 20; kills++) {
          story.fault('CLIENT KILL');
          await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
          await pause(random.int(50, 500));
        }
      })();
      const until = () => kills === 20;
      const waits = await handOversOf({ holder, waiter, listeners }, { keys: 40, until });
      await killing;
      expect(Math.max(...waits)).toBeLessThan(5 * (RECONNECT_MS + ROUND_TRIP_MS));
    });
  });

  it('is never forgotten while others come and go', async () => {
    await telling('coming and going', async (story) => {
      const trial = {
        ...{ workers, redis, referee, story, lockUrl: proxy.url },
        random: seededRandom('coming-and-going'),
        ...{ instances: 12, callers: 2, keys: 12 },
        manners: { plain: 3, bare: 1, aborting: 5 },
        settings: { watchdogLeaseMs: NEVER_POLL_MS, pollIntervalMs: NEVER_POLL_MS },
        waitTimeMs: 10_000,
        workMs: 1,
      };
      // Subscriptions come and go slowly, and out of step with everything else.
      const random = seededRandom('coming-and-going/delays');
      const where = ({ subscriber }: ProxiedConnection) => subscriber;
      proxy.delay('both', 0, { jitterMs: 20, random, where });
      const totals = await survive(trial, () => pause(5_000));
      expect(totals).toMatchObject({ lost: 0, timeouts: 0, backendErrors: 0 });
      expect(totals.sections).toBeGreaterThan(200);
    });
  });

  it('notices a message connection that fell silent', async () => {
    const waiter = openWaiter(NEVER_POLL_MS);
    const wait = await handOver({ holder, waiter, listeners }, 'product_1', async () => {
      const silent = new Set(proxy.connections.filter(({ subscriber }) => subscriber));
      expect(silent.size).toBe(1);
      proxy.blackhole('both', { where: (connection) => silent.has(connection) });
    });
    expect(wait).toBeLessThan(5 * SILENCE_MS);
  });

  it('notices a message connection that never says a word', async () => {
    // A client of the caller, whose settings have no time limit for anything.
    client = callersClient(proxy.url);
    const waiter = open(client, { settings: { pollIntervalMs: NEVER_POLL_MS } });
    await waiter.locks.using('product_0', () => undefined);
    const mute = proxy.counts.accepted + 1;
    proxy.blackhole('both', { where: ({ index }) => index === mute });
    const startedAt = performance.now();
    const wait = await handOver({ holder, waiter, listeners }, 'product_1');
    expect(wait).toBeLessThan(5 * ROUND_TRIP_MS);
    expect(performance.now() - startedAt).toBeLessThan(5 * SILENCE_MS);
  });
});
