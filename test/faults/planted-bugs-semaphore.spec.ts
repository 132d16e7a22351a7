import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import type { LockSettings } from '../../libs/redis-lock/src/core/api/settings.js';
import { eventually } from '../support/eventually.js';
import { permitIdsIn, timeoutOf } from '../support/redisson-permits.js';
import { demand, type Lab, ROUND_TRIP_MS, Violation, within } from './support/lab.js';
import * as bugs from './support/planted-semaphore.js';
import { describeCases } from './support/planted-cases.js';

const NAME = 'gateway';
const MARK = `nestjs_semaphore_waiting:{${NAME}}`;

/** A semaphore of so many permits, of an application of its own. */
async function semaphoreIn(
  lab: Lab,
  url: string,
  permits?: number,
  settings: Partial<LockSettings> = {},
) {
  const semaphore = new SemaphoreService(lab.open(url, { settings }).context).get(NAME);
  if (permits !== undefined) await semaphore.setPermits(permits);
  return semaphore;
}

/** The free permits and the used permits add up to all permits. */
async function demandAll({ redis }: Lab, permits: number): Promise<void> {
  const free = Number(await redis.admin.get(NAME));
  const used = (await permitIdsIn(redis.admin, timeoutOf(NAME))).length;
  demand(free + used === permits, `${String(free)} free and ${String(used)} used`);
}

describeCases([
  {
    situation: 'answers that get lost',
    planted: {
      'a release that is sent again counts again': bugs.RELEASE_COUNTS_AGAIN,
      'a release by id forgets its answer': bugs.RELEASE_FORGETS_ITS_ANSWER,
      'an entry that is sent again counts again': bugs.ENTRY_COUNTS_AGAIN,
      'an entry does not know its own permits': bugs.ENTRY_DOES_NOT_KNOW_ITS_OWN,
    },
    workload: async (lab) => {
      const semaphore = await semaphoreIn(lab, lab.proxy.url, 3);
      // Each script has to be loaded before a lost answer is one that was executed.
      const warm = await semaphore.acquire();
      await warm.release();
      await semaphore.release((await semaphore.acquire()).permitIds);
      const loseOne = () => lab.proxy.loseReply({ containing: 'evalsha', times: 1 });

      loseOne();
      const lease = await semaphore.tryAcquire({ permits: 3, waitTimeMs: 2_000 });
      demand(lease !== null, 'the last permits were refused to the owner that has them');
      await demandAll(lab, 3);
      loseOne();
      await lease?.release();
      await demandAll(lab, 3);
      const { permitIds } = await semaphore.acquire({ permits: 2 });
      loseOne();
      demand(await semaphore.tryRelease(permitIds), 'what was released is called unknown');
      await demandAll(lab, 3);
    },
  },
  {
    situation: 'a holder that vanishes',
    planted: {
      'expired permits are not taken back': bugs.NOTHING_IS_TAKEN_BACK,
      'expired permits are dropped': bugs.EXPIRED_ONES_ARE_DROPPED,
    },
    workload: async (lab) => {
      const dead = await semaphoreIn(lab, lab.proxy.url, 2);
      const next = await semaphoreIn(lab, lab.redis.url);
      await dead.acquire({ permits: 2, leaseTimeMs: 100 });
      lab.proxy.blackhole();
      const waiting = next.acquire({ permits: 2, waitTimeMs: 60_000 }).catch((error: unknown) => {
        throw new Violation(String(error));
      });
      waiting.catch(() => undefined);
      await within(5 * (100 + ROUND_TRIP_MS), waiting, 'the next one gets in');
      await demandAll(lab, 2);
    },
  },
  {
    situation: 'a permit that another caller released',
    planted: { 'a renewal creates what is gone': bugs.RENEWAL_CREATES },
    workload: async (lab) => {
      const semaphore = await semaphoreIn(lab, lab.redis.url, 1, { watchdogLeaseMs: 300 });
      const other = await semaphoreIn(lab, lab.redis.url);
      const lease = await semaphore.acquire();
      await other.release(lease.permitIds);
      await other.acquire({ leaseTimeMs: 60_000 });
      const isLost = eventually(() => lease.state === 'lost');
      await within(5 * (300 + ROUND_TRIP_MS), isLost, 'the first one is told');
      await demandAll(lab, 1);
    },
  },
  {
    situation: 'a request for many permits at once',
    planted: {
      'marks are ignored': bugs.MARKS_ARE_IGNORED,
      'a mark is left by a waiter that gives up': bugs.MARK_IS_LEFT,
    },
    workload: async (lab) => {
      const holder = await semaphoreIn(lab, lab.redis.url, 3);
      const settings = { pollIntervalMs: 20_000 };
      const [large, small] = [
        await semaphoreIn(lab, lab.redis.url, undefined, settings),
        await semaphoreIn(lab, lab.redis.url, undefined, settings),
      ];
      await holder.acquire({ leaseTimeMs: 60_000 });
      const abort = new AbortController();
      const waiting = large.acquire({ permits: 3, signal: abort.signal });
      waiting.catch(() => undefined);
      await eventually(async () => (await lab.redis.admin.exists(MARK)) === 1);
      demand((await small.tryAcquire()) === null, 'a small request overtook the large one');
      const next = small.acquire({ waitTimeMs: 60_000 });
      next.catch(() => undefined);
      abort.abort();
      await within(5 * ROUND_TRIP_MS, next, 'the small one gets in when the large one has left');
    },
  },
  {
    situation: 'a release while a caller waits',
    planted: { 'a release notifies no waiter': bugs.RELEASE_NOTIFIES_NO_WAITER },
    workload: async (lab) => {
      const holder = await semaphoreIn(lab, lab.redis.url, 1);
      const other = await semaphoreIn(lab, lab.redis.url, undefined, { pollIntervalMs: 20_000 });
      const lease = await holder.acquire();
      const waiting = other.acquire({ waitTimeMs: 60_000 });
      waiting.catch(() => undefined);
      await eventually(async () => (await lab.redis.admin.pubsub('CHANNELS')).length > 0);
      // The confirmation of the subscription makes it ask once more.
      await lab.redis.admin.ping();
      await eventually(async () => (await lab.redis.commandStats()).evalsha !== undefined);
      await lease.release();
      await within(5 * ROUND_TRIP_MS, waiting, 'the waiter gets in');
    },
  },
]);
