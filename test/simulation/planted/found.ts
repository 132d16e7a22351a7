import type { FaultName, Primitive } from '../plan.js';
import type { Promised, Violation } from '../referee.js';
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

/** The promise that the bug breaks in the history of this row, and how. */
export async function violationIn(
  [primitive, , seed, , faults]: Row,
  bug: Bug,
): Promise<Violation | undefined> {
  const { violation } = await simulateWith(planFor({ primitive, seed, ...bug }, faults), bug);
  return violation;
}
