import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { eventually, seededRandom } from '../support/set-up.js';
import { Crowd } from './support/crowd.js';
import { overlapsIn, sectionsOf } from './support/history.js';
import { demand, isHeld, ROUND_TRIP_MS, Violation, within } from './support/lab.js';
import { pause, repeat } from './support/pace.js';
import * as bugs from './support/planted.js';
import { describeCases } from './support/planted-cases.js';
import { judge, totalsOf } from './support/verdict.js';
const NAME = 'product_1';

/** A wall clock that a time server sets back. */
const clock = {
  ...systemClock,
  setBackMs: 0,
  wall: () => Date.now() - clock.setBackMs,
};

describeCases([
  {
    situation: 'nested work while replies get lost',
    planted: {
      'an entry does not look who is in': bugs.ENTRY_WHILE_OTHERS_ARE_IN,
      'an entry adds one': bugs.ENTRY_COUNTS_UP,
      'a release takes one off': bugs.RELEASE_COUNTS_DOWN,
      'a release frees all holds': bugs.RELEASE_FREES_ALL_HOLDS,
    },
    workload: async (lab) => {
      const { redis, referee, proxy } = lab;
      const random = seededRandom('planted/nested');
      const settings = { watchdogLeaseMs: 3_000, pollIntervalMs: 200 };
      const work = {
        ...{ locks: [NAME, 'product_2', 'product_3'], callers: 3, sections: Infinity },
        ...{ manners: { nested: 3, plain: 1 }, waitTimeMs: 5_000 },
      };
      const crowds = Array.from({ length: 4 }, (_, i) => {
        const { locks } = lab.openOnClient(proxy.url, { settings });
        const place = { locks, referee: referee.admin, witness: redis.admin };
        return new Crowd(place, work, random.fork(i));
      });
      const running = Promise.all(crowds.map((crowd) => crowd.run()));
      proxy.loseReply({ containing: 'evalsha', times: 60, where: () => random.chance(0.05) });
      await repeat(() => undefined, {
        until: () => proxy.counts.cut >= 60 || crowds.some(({ isBroken }) => isBroken),
        ...{ withinMs: 3_000, everyMs: 10 },
      });
      await proxy.heal();
      for (const crowd of crowds) crowd.stop();
      const reports = await running;
      const totals = totalsOf(reports);
      demand(totals.violations.length === 0, totals.violations.join('; '));
      const overlaps = overlapsIn(sectionsOf(reports.map(({ history }) => history)));
      demand(overlaps.length === 0, overlaps.join('; '));
      const wrong = await judge(referee.admin, totals);
      demand(totals.lost > 0 || wrong.length === 0, wrong.join('; '));
      await within(
        5_000,
        eventually(async () => (await redis.admin.dbsize()) === 0),
        'all free',
      );
    },
  },
  {
    situation: 'a holder that vanishes',
    planted: { 'an entry sets no TTL': bugs.ENTRY_WITHOUT_TTL },
    workload: async (lab) => {
      const [dead, next] = [lab.open(lab.proxy.url), lab.open(lab.redis.url)];
      await dead.locks.acquire(NAME, { leaseTimeMs: 100 });
      lab.proxy.blackhole();
      await within(5 * (100 + ROUND_TRIP_MS), next.locks.acquire(NAME), 'the next one gets in');
    },
  },
  {
    situation: 'a nested call with a longer lease',
    planted: { 'a nested entry sets no TTL': bugs.NESTED_ENTRY_WITHOUT_TTL },
    workload: async (lab) => {
      const { locks } = lab.open(lab.redis.url);
      const work = () =>
        locks.using(NAME, () => lab.redis.admin.pttl(NAME), { leaseTimeMs: 60_000 });
      const pttl = await locks.using(NAME, work, { leaseTimeMs: 5_000 });
      demand(pttl > 30_000, `the lease ends in ${String(pttl)} ms`);
    },
  },
  {
    situation: 'an old renewal that arrives after a longer one',
    planted: { 'a renewal may shorten a lease': bugs.RENEWAL_SHORTENS },
    workload: async (lab) => {
      const { locks } = lab.openOnClient(lab.proxy.url);
      const lease = await eventually(() => locks.acquire(NAME, { leaseTimeMs: 5_000 }));
      const held = lab.proxy.hold('toServer', { where: ({ index }) => index === 1 });
      const renewing = lease.renew(5_000);
      await eventually(() => held.hits > 0);
      for (const connection of lab.proxy.connections) connection.cut('rst', 'client');
      await renewing;
      await lease.renew(60_000);
      const before = await lab.redis.commandStats();
      held.heal();
      await eventually(async () => {
        const { evalsha = 0 } = await lab.redis.commandStats();
        return evalsha > (before.evalsha ?? 0);
      });
      const pttl = await lab.redis.admin.pttl(NAME);
      demand(pttl > 30_000, `the lease ends in ${String(pttl)} ms`);
    },
  },
  {
    situation: 'a server that has lost its data',
    planted: { 'a token has no time in it': bugs.TOKEN_WITHOUT_TIME },
    workload: async (lab) => {
      const { locks } = lab.open(lab.redis.url);
      const take = () => locks.using(NAME, (lease) => lease.fencingToken, { fenced: true });
      await take();
      const before = await take();
      await lab.redis.admin.flushall();
      const after = await take();
      demand(after > before, `${String(after)} after ${String(before)}`);
    },
  },
  {
    situation: 'a release whose reply got lost',
    planted: { 'cuts are not noticed': bugs.CUTS_UNNOTICED },
    workload: async (lab) => {
      const { locks } = lab.openOnClient(lab.proxy.url);
      const lease = await eventually(() => locks.acquire(NAME));
      lab.proxy.loseReply({ containing: 'evalsha', times: 1 });
      await lease.release().catch((error: unknown) => {
        throw new Violation(`the release failed: ${String(error)}`);
      });
    },
  },
  {
    situation: 'an event loop that was blocked',
    planted: { 'only timers notice the end of a lease': bugs.NO_LOOK_AT_THE_CLOCK },
    workload: async (lab) => {
      const { locks } = lab.open(lab.redis.url);
      const lease = await locks.acquire(NAME, { leaseTimeMs: 100 });
      const until = performance.now() + 150;
      while (performance.now() < until);
      demand(!isHeld(lease), 'a lease that is over counts as held');
    },
  },
  {
    situation: 'branches of one Promise.all',
    planted: { 'siblings take no turns': bugs.SIBLINGS_TAKE_NO_TURNS },
    workload: async (lab) => {
      const { locks } = lab.open(lab.redis.url);
      let most = 0;
      let inside = 0;
      const branch = () =>
        locks.using(NAME, async () => {
          most = Math.max(most, ++inside);
          await pause(20);
          inside--;
        });
      await locks.using(NAME, () => Promise.all([branch(), branch(), branch()]));
      demand(most === 1, `${String(most)} were inside at a time`);
    },
  },
  {
    situation: 'several locks, one of which another owner holds',
    planted: { 'those that were granted are kept': bugs.PARTIAL_MULTI_LOCK_KEPT },
    workload: async (lab) => {
      const { redis } = lab;
      const [holder, other] = [lab.open(redis.url), lab.open(redis.url)];
      const lease = await holder.locks.acquire('b');
      const taken = await other.locks.multi(['a', 'b', 'c']).tryAcquire();
      demand(taken === null, 'a lock that another owner holds was granted');
      demand((await redis.admin.exists('a', 'c')) === 0, 'a lock of the refused ones is held');
      await lease.release();
    },
  },
]);
