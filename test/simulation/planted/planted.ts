import type { Decorate } from '../application.js';
import { planOf, type FaultName, type Limits, type Plan, type Primitive } from '../plan.js';
import { simulate, type Verdict } from '../simulation.js';

/** Outsiders and clients that take part in a history. */
interface Cast {
  /** Java services. */
  readonly java?: boolean;
  /** 2: ioredis. */
  readonly level?: Plan['level'];
}

/** How a library differs that is broken on purpose, in one place, and where that shows. */
export interface Bug extends Cast {
  readonly options?: { readonly decorate?: Decorate };
  /** Changes a class; the returned function changes it back. */
  readonly install?: () => () => void;
}

/** A short history. */
export interface Short extends Cast {
  readonly primitive: Primitive;
  readonly seed: number;
}

/** Short ones: a bug shows early, or with another seed. */
const LIMITS: Limits = { sections: 100 };

/** @param faults instead of those that the seed draws */
export function planFor(
  { primitive, seed, java = false, level = 1 }: Short,
  faults?: readonly FaultName[],
): Plan {
  const limits = { ...LIMITS, java, level };
  return planOf(primitive, seed, faults === undefined ? limits : { ...limits, faults });
}

export async function simulateWith(plan: Plan, { options, install }: Bug = {}): Promise<Verdict> {
  const undo = install?.();
  try {
    const decorate = options?.decorate;
    return await simulate(plan, decorate === undefined ? {} : { decorate });
  } finally {
    undo?.();
  }
}
