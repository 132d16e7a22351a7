import { Redis } from 'ioredis';
import {
  LockBackendError,
  LockTimeoutError,
} from '../../../libs/redis-lock/src/core/api/errors.js';

import type { CountingSemaphore } from '../../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.js';
import { CountingSemaphores } from '../../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import {
  callersClient,
  openApplication,
  type Application,
} from '../../faults/support/application.js';
import { pause } from '../../faults/support/pace.js';
import { Random } from '../random.js';
import { serve } from '../worker.js';

const WAIT_MS = 20_000;

export interface Sections {
  names: readonly string[];
  /** The permits of each semaphore. */
  permits: number;
  callers: number;
  /** In all; the last ones to finish may exceed it by a few. */
  sections: number;
  seed: string;
}

export interface Report {
  sections: number;
  /** Calls that ended without an answer. */
  unanswered: number;
  /** Callers that had no time. */
  left: number;
  /** The violations, in words. */
  violations: string[];
}

/** The reason of a caller that aborts its waiting. */
class GaveUp extends Error {}

let applications: { application: Application; client: Redis }[] = [];
let referee: Redis;

async function enter(semaphore: CountingSemaphore, n: number, random: Random): Promise<boolean> {
  const dice = random.next();
  if (dice < 0.1) return semaphore.tryAcquire(n);
  if (dice < 0.2) return semaphore.tryAcquire(n, { waitTimeMs: random.int(1, 10) });
  if (dice < 0.3) {
    const signal = AbortSignal.timeout(random.int(0, 10));
    await semaphore.acquire(n, { signal, waitTimeMs: WAIT_MS }).catch((error: unknown) => {
      throw signal.aborted && error === signal.reason ? new GaveUp() : error;
    });
    return true;
  }
  await semaphore.acquire(n, { waitTimeMs: WAIT_MS });
  return true;
}

/** Takes permits, counts them on a referee that no fault touches, and releases them. */
async function section(
  semaphore: CountingSemaphore,
  { permits }: Sections,
  random: Random,
  report: Report,
): Promise<void> {
  const n = random.int(1, 3);
  if (!(await enter(semaphore, n, random))) {
    report.left += 1;
    return;
  }
  const inside = await referee.incrby(`inside:${semaphore.name}`, n);
  if (inside > permits) {
    report.violations.push(`${String(inside)} of ${String(permits)} permits of ${semaphore.name}`);
  }
  if (random.chance(0.2)) await pause(random.int(0, 2));
  await referee.decrby(`inside:${semaphore.name}`, n);
  report.sections += 1;
  await semaphore.release(n);
}

async function caller(
  semaphores: CountingSemaphore[],
  work: Sections,
  random: Random,
  report: Report,
): Promise<void> {
  while (report.sections < work.sections) {
    try {
      await section(random.pick(semaphores), work, random, report);
    } catch (error) {
      if (error instanceof LockBackendError) report.unanswered += 1;
      else if (error instanceof GaveUp) report.left += 1;
      else if (error instanceof LockTimeoutError) report.violations.push(error.message);
      else throw error;
    }
  }
}

const api = {
  async open(lockUrl: string, refereeUrl: string, instances: number): Promise<void> {
    referee = new Redis(refereeUrl);
    applications = Array.from({ length: instances }, () => {
      const client = callersClient(lockUrl);
      return { client, application: openApplication(client) };
    });
    await Promise.all(
      applications.map(({ client }) => new Promise((resolve) => client.once('ready', resolve))),
    );
  },

  async run(work: Sections): Promise<Report> {
    const report: Report = { sections: 0, unanswered: 0, left: 0, violations: [] };
    const random = new Random(work.seed);
    const callers = applications.flatMap(({ application }, i) => {
      const service = new CountingSemaphores(application.context);
      const semaphores = work.names.map((name) => service.get(name));
      return Array.from({ length: work.callers }, (_, j) =>
        caller(semaphores, work, random.fork(`${String(i)}/${String(j)}`), report),
      );
    });
    await Promise.all(callers);
    return report;
  },

  async close(): Promise<void> {
    await Promise.all(applications.map(({ application }) => application.close()));
    for (const { client } of applications) client.disconnect();
    referee.disconnect();
  },
};
export type Api = typeof api;
serve(api);
