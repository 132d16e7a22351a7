import type { Decorate } from '../application.js';
import { planOf, type FaultName, type Limits, type Plan, type Primitive } from '../plan.js';
import { simulate, type Verdict } from '../simulation.js';

/** How a library differs that is broken on purpose, in one place. */
export interface Bug {
  readonly options?: { readonly decorate?: Decorate };
  /** It shows beside Java services only. */
  readonly java?: boolean;
  /** It shows in ioredis only. */
  readonly level?: 2;
  /** Changes a class; the returned function changes it back. */
  readonly install?: () => () => void;
}

/** A short history. */
export interface Short {
  readonly primitive: Primitive;
  readonly seed: number;
  readonly java?: boolean | undefined;
  readonly level?: 2 | undefined;
}

/** Short ones: a bug shows early, or with another seed. */
const LIMITS: Limits = { sections: 100 };

/** @param faults instead of those that the seed draws */
export function planFor(
  { primitive, seed, java = false, level }: Short,
  faults?: readonly FaultName[],
): Plan {
  const limits = { ...LIMITS, java, ...(level === undefined ? {} : { level }) };
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
