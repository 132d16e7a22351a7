import { describe, expect, it } from '@jest/globals';
import type { Lease } from 'nestjs-redis-lock';

import type { Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { eventually, seededRandom } from '../support/set-up.js';
import {
  AgedServer,
  everyNodeVotes,
  Gate,
  useRedLocks,
  useServers,
} from '../support/red-lock-client.js';
import type { RedisFixture } from '../support/redis-server.js';
import { overlapsIn, staleTokensIn, telling } from './support/history.js';
import { pause } from './support/pace.js';
import { acquireInTurns } from './support/red-crowd.js';

/** Each script takes its own time to its server, so that votes are split. */
class UnevenWay extends AgedServer {
  protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
    await pause(Math.random() * 8);
    return super.around(script, run);
  }
}

const CLIENTS = 3;
const LEASE_MS = 1_000;
const RUN_MS = 11_000;
/** A restarted node stays away for a lease, and its uptime is in whole seconds. */
const AWAY_MS = LEASE_MS + 500;
const JUMPS_MS = 3_000;
const HOUR_MS = 3_600_000;

/**
 * A server whose clock is set keeps every key for so much shorter, or longer. Resolves with the number of
 * keys that are over by that.
 */
async function jump({ admin }: RedisFixture, byMs: number): Promise<number> {
  const over = await admin.eval(
    `local over = 0
     for _, key in ipairs(redis.call('KEYS', '*')) do
       local left = redis.call('PTTL', key) - ARGV[1]
       redis.call('PEXPIRE', key, left)
       if left <= 0 then over = over + 1 end
     end
     return over`,
    0,
    byMs,
  );
  return Number(over);
}

describe('RedLockService on five servers', () => {
  const servers = useServers(5);
  const open = useRedLocks(servers);
  const settings = { watchdogLeaseMs: LEASE_MS, longestLeaseMs: LEASE_MS, pollIntervalMs: 100 };

  it('has one holder at a time while servers are killed and come back without memory', async () => {
    await telling('red lock under kills', async (story) => {
      const random = seededRandom('red-lock/kills');
      const clients = Array.from({ length: CLIENTS }, () =>
        open({ ...settings, decorate: (connection) => new UnevenWay(connection) }),
      );
      // A client that first sees a server after a kill would take it for an old one.
      await Promise.all(clients.map(everyNodeVotes));
      const until = performance.now() + RUN_MS;
      const isOver = () => performance.now() >= until;
      const turns = Promise.all(
        clients.map((client, i) =>
          acquireInTurns(client, { name: 'product_1', random: random.fork(i), isOver }),
        ),
      );
      let kills = 0;
      // Two at a time, never the same: a majority is always there.
      const killing = [servers.slice(0, 3), servers.slice(3)].map(async (some, i) => {
        const chance = random.fork(`kills/${String(i)}`);
        while (!isOver()) {
          const server: RedisFixture = chance.pick(some);
          const isStalled = chance.chance(0.3);
          story.fault(`${isStalled ? 'stall' : 'kill'} ${String(servers.indexOf(server))}`);
          if (isStalled) server.pause();
          else await server.kill();
          kills += 1;
          await pause(chance.int(20, 400));
          if (isStalled) server.resume();
          else await server.start();
          await pause(AWAY_MS);
        }
      });
      const reports = await turns;
      await Promise.all(killing);
      for (const { history } of reports) story.keep(history.pack());

      expect(overlapsIn(story.sections)).toEqual([]);
      expect(staleTokensIn(story.sections)).toEqual([]);
      expect(kills).toBeGreaterThan(5);
      const sections = reports.map((report) => report.sections);
      expect(Math.min(...sections)).toBeGreaterThan(0);
      expect(story.sections.length).toBeGreaterThan(20);
      await eventually(async () => {
        for (const { admin } of servers) expect(await admin.exists('product_1')).toBe(0);
      });
    });
  });

  it('has one holder at a time that is on the other four while the clock of one server jumps', async () => {
    await telling('red lock with a jumping clock', async (story) => {
      const random = seededRandom('red-lock/clock');
      const clients = Array.from({ length: CLIENTS }, () => open(settings));
      await Promise.all(clients.map(everyNodeVotes));
      const until = performance.now() + JUMPS_MS;
      const isOver = () => performance.now() >= until;
      const jumping = random.pick(servers);
      const others = servers.filter((server) => server !== jumping);
      // After votes were split, a grant may be a bare majority, of which the jumping server takes one.
      const isSettled = async ({ owner }: Lease) => {
        const has = others.map(({ admin }) => admin.hexists('product_1', owner));
        return !(await Promise.all(has)).includes(0);
      };
      const turns = clients.map((client, i) =>
        acquireInTurns(client, { name: 'product_1', random: random.fork(i), isOver, isSettled }),
      );
      let freed = 0;
      while (!isOver()) {
        freed += await jump(jumping, random.pick([-1, 1]) * HOUR_MS);
        await pause(random.int(1, 20));
      }
      for (const { history } of await Promise.all(turns)) story.keep(history.pack());

      expect(overlapsIn(story.sections)).toEqual([]);
      expect(staleTokensIn(story.sections)).toEqual([]);
      expect(freed).toBeGreaterThan(3);
      expect(story.sections.length).toBeGreaterThan(10);
    });
  });

  it('gives the next holder a larger token when the clock of one jumps that a bare majority needs', async () => {
    const long = { watchdogLeaseMs: 20_000, longestLeaseMs: 20_000 };
    let isCut = false;
    const first = open({
      ...long,
      decorate: (connection, node) => new Gate(connection, () => isCut && node >= 3),
    });
    const second = open(long);
    await Promise.all([first, second].map(everyNodeVotes));
    isCut = true;
    const options = { fenced: true, leaseTimeMs: long.watchdogLeaseMs };
    const lease = await first.locks.acquire('product_1', options);
    await jump(servers[0] as RedisFixture, HOUR_MS);
    const next = await second.locks.acquire('product_1', options);
    lease.assertHeld();
    expect(Number(next.fencingToken)).toBeGreaterThan(Number(lease.fencingToken));
    isCut = false;
    await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
    next.assertHeld();
    await next.release();
  });

  it('gives the next holder a larger token when the clocks of three jump, and tells the first one', async () => {
    const options = { fenced: true, waitTimeMs: 10_000 };
    // A renewal between the jumps would restore the lock where it is missing.
    const long = { watchdogLeaseMs: 6_000, longestLeaseMs: 6_000 };
    const [first, second] = [open(long), open(long)];
    await Promise.all([first, second].map(everyNodeVotes));
    const lease = await first.locks.acquire('product_1', options);
    await Promise.all(servers.slice(0, 3).map((server) => jump(server, HOUR_MS)));
    const next = await second.locks.acquire('product_1', options);
    expect(Number(next.fencingToken)).toBeGreaterThan(Number(lease.fencingToken));
    await eventually(() => lease.state === 'lost');
    next.assertHeld();
    await next.release();
  });
});
