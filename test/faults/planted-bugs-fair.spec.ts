import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { FairView } from '../fair-lock/fair-view.js';
import { eventually } from '../support/eventually.js';
import type { ApplicationOptions } from './support/application.js';
import { demand, type Lab, ROUND_TRIP_MS, within } from './support/lab.js';
import * as bugs from './support/planted-fair.js';
import { describeCases } from './support/planted-cases.js';

const NAME = 'product_1';
const settings = { pollIntervalMs: 50 };

const fairIn = (lab: Lab, options: ApplicationOptions = { settings }) =>
  new FairLockService(lab.open(lab.redis.url, options).context);

describeCases([
  {
    situation: 'a client whose clock is ahead',
    planted: { 'the queue goes by the time of the client': bugs.CLIENT_TIME },
    workload: async (lab) => {
      const view = new FairView(lab.redis, NAME);
      const right = fairIn(lab);
      const lease = await right.acquire(NAME);
      const order: string[] = [];
      const first = right.using(NAME, () => order.push('first'));
      await eventually(async () => (await view.queue()).length === 1);
      const [owner] = await view.queue();
      bugs.clock.aheadMs = 3_600_000;
      const ahead = fairIn(lab);
      bugs.clock.aheadMs = 0;
      const second = ahead.using(NAME, () => order.push('second'));
      await eventually(async () => (await view.queue()).some((waiter) => waiter !== owner));
      await lease.release();
      await Promise.all([first, second]);
      demand(order[0] === 'first', 'who came later got in before');
    },
  },
  {
    situation: 'a process that dies at the head of the queue',
    planted: { 'waiters have no horizon': bugs.NO_HORIZON },
    workload: async (lab) => {
      const ALIVE_MS = 200;
      const view = new FairView(lab.redis, NAME);
      for (const n of [1, 2]) await view.enter({ owner: `dead:${String(n)}`, aliveMs: ALIVE_MS });
      await lab.redis.admin.del(NAME);
      const waiting = fairIn(lab).acquire(NAME);
      const limitMs = 5 * (ALIVE_MS + settings.pollIntervalMs + ROUND_TRIP_MS);
      await within(limitMs, waiting, 'the next one gets in').catch((error: unknown) => {
        waiting.catch(() => undefined);
        throw error;
      });
    },
  },
  {
    situation: 'a queue whose scores are lost',
    planted: { 'a waiter without a score enters once more': bugs.LOST_SCORE },
    workload: async (lab) => {
      const view = new FairView(lab.redis, NAME);
      const locks = fairIn(lab);
      const lease = await locks.acquire(NAME);
      const waiting = [await view.enqueue(locks), await view.enqueue(locks)];
      const before = await view.queue();
      await lab.redis.admin.del(view.keys.timeouts);
      await eventually(async () => (await lab.redis.admin.zcard(view.keys.timeouts)) === 2);
      const after = await view.queue();
      demand(after.join() === before.join(), `${String(after.length)} places for two waiters`);
      await lease.release();
      for (const { promise } of waiting) await (await promise).release();
    },
  },
]);
