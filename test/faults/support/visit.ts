import type { Redis } from 'ioredis';
import type { Lease } from 'nestjs-redis-lock';

import type { Random } from '../../support/random.js';
import { openCounter, type Guard } from './counters.js';
import { nowUs } from './history.js';
import { pause } from './pace.js';

/** One caller that was let in, from the beginning of its wait on. */
export interface Visit {
  readonly lock: string;
  readonly lease: Lease;
  readonly random: Random;
  readonly waitedFromUs: number;
  readonly grantedUs: number;
  /** When the section began, and when the lock was last known to be held in it. */
  startUs: number;
  heldUntilUs: number;
}

/** Writes down what callers of a lock live to see. */
export interface Recorder {
  entered?(visit: Visit): void;
  left(visit: Visit): void;
  /** The caller got this outcome in the end: `released`, or the code of an error. */
  ended?(visit: Visit, outcome: string): void;
  /** A caller was not let in. */
  refused?(lock: string, waitedFromUs: number, outcome: string): void;
  violated?(text: string, owner?: string): void;
}

export interface Setting {
  readonly referee: Redis;
  readonly guard: Guard;
  readonly recorder: Recorder;
  /** The longest work in a section; 0 is as fast as the referee. */
  readonly workMs: number;
  readonly violated: (text: string, owner?: string) => void;
}

/** One call from the beginning of its wait to its last word. */
export async function attempt(
  recorder: Recorder,
  { lock, random }: { lock: string; random: Random },
  work: (granted: (lease: Lease) => Visit) => Promise<void>,
): Promise<void> {
  const waitedFromUs = nowUs();
  const visits: Visit[] = [];
  const granted = (lease: Lease) => {
    const grantedUs = nowUs();
    const times = { waitedFromUs, grantedUs, startUs: grantedUs, heldUntilUs: grantedUs };
    const visit = { lock, lease, random, ...times };
    visits.push(visit);
    return visit;
  };
  const end = (outcome: string) => {
    if (visits.length === 0) recorder.refused?.(lock, waitedFromUs, outcome);
    for (const visit of visits) recorder.ended?.(visit, outcome);
  };
  try {
    await work(granted);
    // An attempt that does not wait may be refused without an error.
    end(visits.length === 0 ? 'refused' : 'released');
  } catch (error) {
    end((error as { code?: string }).code ?? String(error));
    throw error;
  }
}

/**
 * A counter that only the lock protects: read, work, write. Two at a time would lose an increment,
 * and would show in the history. The section ends where the lease was last known to be held.
 */
export async function passThrough(
  { referee, guard, recorder, workMs, violated }: Setting,
  visit: Visit,
  inner: (() => Promise<void>) | undefined,
): Promise<void> {
  const counter = openCounter(referee, guard, visit);
  const newerOneIn = 'the resource knows a newer token than that of the holder';
  visit.startUs = nowUs();
  confirm(visit);
  recorder.entered?.(visit);
  try {
    const count = await counter.read();
    confirm(visit);
    if (count === undefined) violated(newerOneIn, visit.lease.owner);
    await inner?.();
    if (workMs > 0) await pause(visit.random.int(0, workMs));
    confirm(visit);
    const isWritten = await counter.write((count ?? 0) + 1);
    confirm(visit);
    if (!isWritten) violated(newerOneIn, visit.lease.owner);
  } finally {
    recorder.left(visit);
  }
}

/** The time before the look: the process may stand still right after it. */
export function confirm(visit: Visit): void {
  const beforeUs = nowUs();
  visit.lease.assertHeld();
  visit.heldUntilUs = beforeUs;
}
