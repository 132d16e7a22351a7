import { expect } from '@jest/globals';
import type { Lease } from 'nestjs-redis-lock';

import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { eventually } from '../support/eventually.js';
import type { ProxiedConnection } from '../support/proxied-connection.js';
import { seededRandom } from '../support/random.js';
import { Crowd } from './support/crowd.js';
import { handOver, listenersOn } from './support/hand-over.js';
import { overlapsIn, sectionsOf } from './support/history.js';
import { demand, isHeld, ROUND_TRIP_MS, Violation, within } from './support/lab.js';
import { pause, repeat } from './support/pace.js';
import * as bugs from './support/planted.js';
import { describeCases } from './support/planted-cases.js';
import { judge, totalsOf } from './support/verdict.js';

const NEVER_POLL_MS = 60_000;
const NAME = 'product_1';

const isSubscriber = ({ subscriber }: ProxiedConnection) => subscriber;
const isNoSubscriber = ({ subscriber }: ProxiedConnection) => !subscriber;

/** Resolves when the holder is told that its lease is lost. */
function loss({ signal }: Lease): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}

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
      const settings = { leaseTimeMs: 3_000, pollIntervalMs: 200 };
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
    situation: 'a release that comes after the lease',
    planted: { 'a release does not look at the owner': bugs.RELEASE_OF_WHOEVER_HOLDS },
    workload: async (lab) => {
      const [stale, next] = [lab.open(lab.proxy.url), lab.open(lab.redis.url)];
      const lease = await stale.locks.acquire(NAME, { leaseTimeMs: 100 });
      const held = lab.proxy.hold('toServer');
      const { owner } = await next.locks.acquire(NAME);
      await lease.release().catch(() => undefined);
      demand(held.hits > 0, 'the release was not sent');
      held.heal();
      // Whatever it still has to say to Redis, it has said then.
      await stale.close();
      demand((await lab.redis.admin.hget(NAME, owner)) === '1', 'the next one lost its lock');
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
    situation: 'work that takes longer than the lease',
    planted: { 'nothing is renewed': bugs.NO_WATCHDOG },
    workload: async (lab) => {
      const settings = { leaseTimeMs: 1_500 };
      const [holder, next] = [
        lab.open(lab.redis.url, { settings }),
        lab.open(lab.redis.url, { settings }),
      ];
      const lease = await holder.locks.acquire(NAME);
      let isNextIn = false;
      const waiting = next.locks.acquire(NAME).then(() => (isNextIn = true));
      await pause(1.5 * settings.leaseTimeMs);
      demand(!isNextIn, 'somebody got in meanwhile');
      lease.assertHeld();
      await lease.release();
      await waiting;
    },
  },
  {
    situation: 'a lock that was released',
    planted: { 'the watchdog goes on': bugs.RESTLESS_WATCHDOG },
    workload: async (lab) => {
      const settings = { leaseTimeMs: 1_500 };
      let renewals = 0;
      const onEvent = ({ type }: { type: string }) => {
        if (type === 'renewed') renewals++;
      };
      const { locks } = lab.open(lab.redis.url, { settings, onEvent });
      const lease = await locks.acquire(NAME);
      await eventually(() => renewals > 0);
      await lease.release();
      const calls = await lab.redis.commandsDuring(() => pause(settings.leaseTimeMs / 2));
      demand(calls.evalsha === undefined, `${String(calls.evalsha)} scripts after the release`);
    },
  },
  {
    situation: 'a key that somebody deletes',
    planted: { 'a renewal creates the lock': bugs.RENEWAL_CREATES },
    workload: async (lab) => {
      const settings = { leaseTimeMs: 300 };
      const lease = await lab.open(lab.redis.url, { settings }).locks.acquire(NAME);
      const lost = loss(lease);
      await lab.redis.admin.del(NAME);
      await within(5 * settings.leaseTimeMs, lost, 'the holder is told');
    },
  },
  {
    situation: 'a lock that somebody else has got',
    planted: { 'a renewal does not look at the owner': bugs.RENEWAL_OF_WHOEVER_HOLDS },
    workload: async (lab) => {
      const settings = { leaseTimeMs: 300 };
      const lease = await lab.open(lab.redis.url, { settings }).locks.acquire(NAME);
      const lost = loss(lease);
      const { admin } = lab.redis;
      await admin.multi().del(NAME).hset(NAME, 'java:1', 1).pexpire(NAME, 60_000).exec();
      await within(5 * settings.leaseTimeMs, lost, 'the holder is told');
      demand((await admin.pttl(NAME)) > 30_000, 'the lease of the other one was changed');
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
    situation: 'three fenced grants',
    planted: { 'a token does not rise': bugs.TOKEN_STAYS },
    workload: async (lab) => {
      const { locks } = lab.open(lab.redis.url);
      const tokens = [];
      for (let i = 0; i < 3; i++) {
        tokens.push(await locks.using(NAME, (lease) => lease.fencingToken ?? 0, { fenced: true }));
      }
      const [first = 0, second = 0, third = 0] = tokens;
      demand(first < second && second < third, tokens.join(', '));
    },
  },
  {
    situation: 'a server that has lost its data',
    planted: { 'a token has no time in it': bugs.TOKEN_WITHOUT_TIME },
    workload: async (lab) => {
      const { locks } = lab.open(lab.redis.url);
      const take = () => locks.using(NAME, (lease) => lease.fencingToken ?? 0, { fenced: true });
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
    situation: 'answers that take long',
    planted: { 'a lease begins with the answer': bugs.DEADLINE_FROM_THE_ANSWER },
    workload: async (lab) => {
      const [slow, next] = [lab.open(lab.proxy.url), lab.open(lab.redis.url)];
      await slow.locks.using('product_0', () => undefined);
      lab.proxy.delay('toClient', 300);
      const lease = await slow.locks.acquire(NAME, { leaseTimeMs: 600 });
      const waiting = next.locks.acquire(NAME).then(() => performance.now());
      let heldAt = 0;
      while (isHeld(lease)) {
        heldAt = performance.now();
        await pause(1);
      }
      const grantedAt = await waiting;
      demand(heldAt <= grantedAt, `both had it for ${String(heldAt - grantedAt)} ms`);
    },
  },
  {
    situation: 'a wall clock that is set back',
    planted: { 'deadlines go by the wall clock': bugs.wallClock(clock) },
    workload: async (lab) => {
      clock.setBackMs = 0;
      const holder = lab.open(lab.redis.url, { clock });
      const next = lab.open(lab.redis.url);
      const lease = await holder.locks.acquire(NAME, { leaseTimeMs: 200 });
      clock.setBackMs = 3_600_000;
      await next.locks.acquire(NAME);
      demand(!isHeld(lease), 'both have it');
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
    situation: 'a grant that comes when the caller has left',
    planted: { 'a late grant is kept': bugs.LATE_GRANT_KEPT },
    workload: async (lab) => {
      const { locks, events } = lab.open(lab.proxy.url);
      await locks.using('product_0', () => undefined);
      const held = lab.proxy.hold('toServer', { where: isNoSubscriber });
      await expect(locks.acquire(NAME, { waitTimeMs: 20 })).rejects.toThrow('not acquired');
      held.heal();
      await eventually(() => events.some(({ type }) => type === 'late-grant'));
      const isFree = eventually(async () => (await lab.redis.admin.exists(NAME)) === 0);
      await within(1_000, isFree, 'the lock is free again');
    },
  },
  {
    situation: 'messages that get lost',
    planted: { 'nobody polls': bugs.NO_POLL },
    workload: async (lab) => {
      const pollIntervalMs = 100;
      const waiter = lab.open(lab.proxy.url, { settings: { pollIntervalMs } });
      const parties = {
        holder: lab.open(lab.redis.url),
        waiter,
        listeners: listenersOn(lab.redis),
      };
      // Redis learns the scripts, so that each of them is called once from here on.
      await handOver(parties, 'product_0');
      await lab.redis.resetCommandStats();
      lab.proxy.drop('toClient', { containing: '\r\nmessage\r\n' });
      // The holder has asked, and the waiter before and after its subscription: it has only the poll.
      const allHaveAsked = () =>
        eventually(async () =>
          expect((await lab.redis.commandStats()).evalsha).toBeGreaterThanOrEqual(3),
        );
      const handing = handOver(parties, NAME, allHaveAsked);
      await within(5 * (pollIntervalMs + ROUND_TRIP_MS), handing, 'the waiter gets in');
    },
  },
  {
    situation: 'a release before the subscription is there',
    planted: { 'nobody tries again after subscribing': bugs.NO_RETRY_AFTER_SUBSCRIBE },
    workload: async (lab) => {
      const holder = lab.open(lab.redis.url);
      const waiter = lab.open(lab.proxy.url, { settings: { pollIntervalMs: NEVER_POLL_MS } });
      const lease = await holder.locks.acquire(NAME);
      const subscription = lab.proxy.hold('toServer', { containing: '\r\nsubscribe\r\n' });
      const waiting = waiter.locks.acquire(NAME);
      await eventually(() => subscription.hits > 0);
      await lease.release();
      subscription.heal();
      await within(5 * ROUND_TRIP_MS, waiting, 'the waiter gets in');
    },
  },
  {
    situation: 'several locks, one of which somebody else holds',
    planted: { 'those that were granted are kept': bugs.PARTIAL_MULTI_LOCK_KEPT },
    workload: async (lab) => {
      const { redis } = lab;
      const [holder, other] = [lab.open(redis.url), lab.open(redis.url)];
      const lease = await holder.locks.acquire('b');
      const taken = await other.locks.multi(['a', 'b', 'c']).tryAcquire();
      demand(taken === null, 'a lock that somebody holds was granted');
      demand((await redis.admin.exists('a', 'c')) === 0, 'a lock of the refused ones is held');
      await lease.release();
    },
  },
  {
    situation: 'a release while there is no connection',
    planted: { 'nobody tries again after a reconnect': bugs.NO_RETRY_AFTER_RECONNECT },
    workload: async (lab) => {
      const { proxy, redis } = lab;
      const waiter = lab.open(proxy.url, { settings: { pollIntervalMs: NEVER_POLL_MS } });
      const holder = lab.open(redis.url);
      const lease = await holder.locks.acquire(NAME);
      const waiting = waiter.locks.acquire(NAME);
      await eventually(() => proxy.connections.some(isSubscriber));
      await eventually(async () => (await redis.wakeUpChannels()).length > 0);
      proxy.refuse();
      proxy.cut();
      await lease.release();
      await proxy.accept();
      // Our own client tries to connect every 500 ms at least.
      await within(5 * (500 + ROUND_TRIP_MS), waiting, 'the waiter gets in');
    },
  },
]);
