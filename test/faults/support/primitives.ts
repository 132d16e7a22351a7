import { LockService } from 'nestjs-redis-lock';

import type { LockContext } from '../../../libs/redis-lock/src/core/lock-context.js';

/** Somebody has it alone. */
export interface Held {
  /** Of what is held by a lease. */
  readonly state?: 'held' | 'suspect' | 'lost' | 'released';
  /** Of what gives such tokens. */
  readonly fencingToken?: number | undefined;
  release(): Promise<unknown>;
}

/** Takes a name alone, and waits for that. */
export type Take = (name: string, waitTimeMs: number) => Promise<Held>;

/** What all topologies are tried with: how each is taken by one at a time, and given back. */
export const PRIMITIVES: readonly [string, (context: LockContext) => Take][] = [
  [
    'LockService',
    (context) => {
      const locks = new LockService(context);
      return (name, waitTimeMs) => locks.acquire(name, { waitTimeMs, fenced: true });
    },
  ],
];
