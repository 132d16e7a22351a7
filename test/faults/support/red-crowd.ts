import type { Lease } from 'nestjs-redis-lock';
import { LockError } from '../../../libs/redis-lock/src/core/api/errors.js';

import type { Random } from '../../support/random.js';
import type { RedLockClient } from '../../support/red-lock-client.js';
import { History, nowUs } from './history.js';
import { isHeld } from './lab.js';
import { pause } from './pace.js';

/** The callers of one client have seen this. */
export interface RedReport {
  readonly history: History;
  sections: number;
  lost: number;
  refused: number;
}

interface Turns {
  readonly name: string;
  readonly random: Random;
  readonly isOver: () => boolean;
  /** The lock counts as held only when it is granted and this is true. */
  readonly isSettled?: (lease: Lease) => Promise<boolean>;
}

/**
 * Takes the lock again and again, holds it for a random time, and writes down when it was held: up to
 * the last moment at which the lease said so.
 */
export async function acquireInTurns(
  { locks }: RedLockClient,
  { name, random, isOver, isSettled = () => Promise.resolve(true) }: Turns,
): Promise<RedReport> {
  const report: RedReport = { history: new History(), sections: 0, lost: 0, refused: 0 };
  while (!isOver()) {
    try {
      const lease = await locks.acquire(name, { fenced: true, waitTimeMs: 3_000 });
      while (isHeld(lease) && !(await isSettled(lease))) await pause(1);
      if (!isHeld(lease)) continue;
      const startUs = nowUs();
      let endUs = startUs;
      const until = performance.now() + random.int(0, 40);
      while (performance.now() < until && isHeld(lease)) {
        endUs = nowUs();
        await pause(1);
      }
      report.history.add(name, startUs, endUs, lease.fencingToken);
      report.sections += 1;
      await lease.release();
    } catch (error) {
      if (!(error instanceof LockError)) throw error;
      if (error.code === 'LEASE_LOST') report.lost += 1;
      else report.refused += 1;
    }
  }
  return report;
}
