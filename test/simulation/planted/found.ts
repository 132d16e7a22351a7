import type { FaultName, Plan, Primitive } from '../plan.js';
import type { Promised } from '../referee.js';
import type { Verdict } from '../simulation.js';
import { planFor, simulateWith, type Bug } from './planted.js';

/**
 * A bug, the seed of a history in which it shows, and the promise that it breaks there. The faults,
 * if they are not those that the seed draws.
 */
export type Row = readonly [
  primitive: Primitive,
  bug: string,
  seed: number,
  promise: Promised,
  faults?: readonly FaultName[],
];

/** Where a bug shows first. */
interface Found {
  readonly seed: number;
  readonly promise: Promised;
  readonly text: string;
  /** The sections of all histories until then. */
  readonly sections: number;
}

/** Tries one seed after the other, until the bug breaks a promise. */
export async function find(
  primitive: Primitive,
  bug: Bug,
  most: number,
  faults?: readonly FaultName[],
): Promise<Found | undefined> {
  let sections = 0;
  for (let seed = 1; sections < most; seed += 1) {
    const verdict = await simulateWith(planFor({ primitive, seed, ...bug }, faults), bug);
    sections += Math.max(1, verdict.sections);
    if (verdict.violation !== undefined) return { seed, ...verdict.violation, sections };
  }
  return undefined;
}

export function planOf([primitive, , seed, , faults]: Row, bug: Bug): Plan {
  return planFor({ primitive, seed, ...bug }, faults);
}

/** The history of this row with its bug, until a promise is broken. */
export function verdictOf(row: Row, bug: Bug): Promise<Verdict> {
  return simulateWith(planOf(row, bug), bug);
}
