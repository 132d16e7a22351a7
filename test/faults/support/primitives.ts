import { EventEmitter, once } from 'node:events';

import { LockTimeoutError } from '../../../libs/redis-lock/src/core/api/errors.js';
import { LatchService } from '../../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { LockService } from '../../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { SemaphoreService } from '../../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';

import type { LockContext } from '../../../libs/redis-lock/src/core/lock-context.js';

/** A caller has the name, and keeps others out. */
export interface Held {
  /** Only a lease has a state. */
  readonly state?: 'held' | 'suspect' | 'lost' | 'released';
  /** Only a fenced lease has a token. */
  readonly fencingToken?: number | undefined;
  release(): Promise<unknown>;
}

/** Takes a name, and waits for that. */
export type Take = (name: string, waitTimeMs: number) => Promise<Held>;

/** Two ways to take a name, neither of which goes together with the other one, or with `against`. */
export interface Primitive {
  readonly take: Take;
  readonly against: Take;
  /** Brings back the keys that no other call restores, should Redis have lost its data. */
  prepare?(name: string): Promise<unknown>;
}

/** How a primitive is tried. */
export interface Kind {
  readonly title: string;
  of(context: LockContext): Primitive;
  /** The keys of Redis that a name stands for. */
  keysOf?(name: string): readonly string[];
  /** The key stays when no owner has it, or when a failure has left no owner to release it. */
  readonly staysBehind?: boolean;
}

const alone = (take: Take): Primitive => ({ take, against: take });

const CAPACITY = 2;
const otherOf = (name: string) => `${name}:2`;

/** All topologies are tried with these primitives. */
export const PRIMITIVES: readonly Kind[] = [
  {
    title: 'lock',
    of: (context) => {
      const locks = new LockService(context);
      return alone((name, waitTimeMs) => locks.acquire(name, { waitTimeMs }));
    },
  },
  {
    title: 'fenced lock',
    of: (context) => {
      const locks = new LockService(context);
      return alone((name, waitTimeMs) => locks.acquire(name, { waitTimeMs, fenced: true }));
    },
  },
  {
    title: 'fair lock',
    of: (context) => {
      const locks = new FairLockService(context);
      return alone((name, waitTimeMs) => locks.acquire(name, { waitTimeMs, fenced: true }));
    },
  },
  { title: 'read lock', of: (context) => readAndWrite(context) },
  {
    title: 'write lock',
    of: (context) => {
      const { take, against } = readAndWrite(context);
      return { take: against, against: take };
    },
  },
  { title: 'semaphore', of: permits, staysBehind: true },
  { title: 'counting semaphore', of: counted, staysBehind: true },
  { title: 'latch', of: latched, staysBehind: true },
  {
    title: 'multi lock',
    of: (context) => {
      const [locks, fairLocks] = [new LockService(context), new FairLockService(context)];
      return alone((name, waitTimeMs) =>
        locks.multi([name, fairLocks.get(otherOf(name))]).acquire({ waitTimeMs }),
      );
    },
    keysOf: (name) => [name, otherOf(name)],
  },
];

function readAndWrite(context: LockContext): Primitive {
  const locks = new ReadWriteLockService(context);
  return {
    take: (name, waitTimeMs) => locks.get(name).read.acquire({ waitTimeMs }),
    against: (name, waitTimeMs) => locks.get(name).write.acquire({ waitTimeMs, fenced: true }),
  };
}

/** One who wants one permit, against one who wants all. */
function permits(context: LockContext): Primitive {
  const semaphores = new SemaphoreService(context);
  const prepare = (name: string) => semaphores.get(name).trySetPermits(CAPACITY);
  const taking =
    (count: number): Take =>
    async (name, waitTimeMs) => {
      await prepare(name);
      return semaphores.get(name).acquire({ permits: count, waitTimeMs });
    };
  /** Only the next caller to acquire takes back a permit whose release died with its server. */
  const prepareAndReclaim = async (name: string) => {
    await prepare(name);
    await (await semaphores.get(name).tryAcquire())?.release();
  };
  return { take: taking(1), against: taking(CAPACITY), prepare: prepareAndReclaim };
}

/**
 * There is only 1 permit: when Redis has lost the number, the first release makes it anew. A caller that
 * wanted more than 1 would then wait for ever.
 */
function counted(context: LockContext): Primitive {
  const semaphores = new SemaphoreService(context);
  const prepare = (name: string) => semaphores.counting(name).trySetPermits(1);
  const take: Take = async (name, waitTimeMs) => {
    await prepare(name);
    const semaphore = semaphores.counting(name);
    await semaphore.acquire(1, { waitTimeMs });
    return { release: () => semaphore.release() };
  };
  return { take, against: take, prepare };
}

/**
 * The caller that has set the latch opens it again; the others wait for that. A latch that is set anew at
 * once has never been open for them, so its opener stands back until one of them has seen it.
 */
function latched(context: LockContext): Primitive {
  const latches = new LatchService(context);
  const waits = new EventEmitter().setMaxListeners(0);
  const waiting = new Map<string, number>();
  const count = (name: string, change: number) =>
    waiting.set(name, (waiting.get(name) ?? 0) + change);
  const wait = async (name: string, waitTimeMs: number) => {
    count(name, 1);
    try {
      return await latches.get(name).wait({ waitTimeMs });
    } finally {
      count(name, -1);
      waits.emit(name);
    }
  };
  return alone(async (name, waitTimeMs) => {
    const latch = latches.get(name);
    const until = performance.now() + waitTimeMs;
    while (!(await setOrGiveUp(() => latch.trySetCount(1), latch.countDown))) {
      const leftMs = Math.max(0, Math.ceil(until - performance.now()));
      if (await wait(name, leftMs)) continue;
      throw new LockTimeoutError(name, {
        waitedMs: waitTimeMs,
        retryAfterMs: 0,
        blockedBy: 'other',
      });
    }
    return {
      release: async () => {
        const seen = once(waits, name);
        await latch.countDown();
        if (waiting.get(name)) await seen;
      },
    };
  });
}

/** A latch does not record who set it. A latch that a failed call may still set must not stay closed. */
async function setOrGiveUp(
  set: () => Promise<boolean>,
  giveUp: () => Promise<unknown>,
): Promise<boolean> {
  try {
    return await set();
  } catch (error) {
    giveUp().catch(() => undefined);
    throw error;
  }
}
