import type { Redis } from 'ioredis';
import { LockError } from '../../../libs/redis-lock/src/core/api/errors.js';

import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import {
  callersClient,
  openApplication,
  type Application,
} from '../../faults/support/application.js';
import { report, serve } from '../worker.js';

export interface Load {
  /** Holders that finish once the service begins to shut down. */
  obedient: number;
  /** Holders that never finish; their signal aborts when their lock is taken from them. */
  stubborn: number;
  /** Callers that wait for ever for the locks of stubborn holders, here or elsewhere. */
  waiters: number;
}

/** The number of callers for each outcome: an error code or `done`. */
export interface Farewell {
  tookMs: number;
  obedient: Record<string, number>;
  stubborn: Record<string, number>;
  waiters: Record<string, number>;
  latecomer: string;
}

/** Waiters wait for so many different locks. */
const LOCKS = 50;

let application: Application;
let client: Redis | undefined;
let goHome: () => void = () => undefined;
const closing = new Promise<void>((resolve) => (goHome = resolve));
const outcomes = {
  obedient: [] as Promise<string>[],
  stubborn: [] as Promise<string>[],
  waiters: [] as Promise<string>[],
};

function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => (error instanceof LockError ? error.code : String(error)),
  );
}

async function countsOf(ends: Promise<string>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const end of await Promise.all(ends)) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}

/** The order of a Nest application: refuse, let the holders finish, release and close. */
async function shutDown(): Promise<void> {
  const startedAt = performance.now();
  application.context.refuse();
  goHome();
  const latecomer = await outcomeOf(application.locks.acquire('late'));
  await application.context.drain();
  await application.close();
  const tookMs = performance.now() - startedAt;
  const farewell: Farewell = {
    tookMs,
    obedient: await countsOf(outcomes.obedient),
    stubborn: await countsOf(outcomes.stubborn),
    waiters: await countsOf(outcomes.waiters),
    latecomer,
  };
  client?.disconnect();
  report(farewell);
}

const api = {
  open(url: string, whose: 'ours' | 'the caller’s', settings: Partial<LockSettings>): void {
    client = whose === 'ours' ? undefined : callersClient(url);
    application = openApplication(client ?? url, { settings });
    process.once('SIGTERM', () => void shutDown());
  },

  /** Resolves once every caller holds or waits. */
  async work({ obedient, stubborn, waiters }: Load): Promise<void> {
    const { locks } = application;
    const inside: Promise<void>[] = [];
    for (let i = 0; i < obedient; i++) {
      let enter: () => void = () => undefined;
      inside.push(new Promise((resolve) => (enter = resolve)));
      const work = () => {
        enter();
        return closing;
      };
      outcomes.obedient.push(outcomeOf(locks.using(`obedient_${String(i)}`, work)));
    }
    for (let i = 0; i < stubborn; i++) {
      const { signal } = await locks.acquire(`stubborn_${String(i)}`);
      const loss = new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
      outcomes.stubborn.push(outcomeOf(loss));
    }
    await Promise.all(inside);
    for (let i = 0; i < waiters; i++) {
      const name = `stubborn_${String(i % LOCKS)}`;
      outcomes.waiters.push(outcomeOf(locks.acquire(name, { waitTimeMs: Infinity })));
    }
  },
};
export type Api = typeof api;
serve(api);
