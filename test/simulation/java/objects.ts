import { fairKeysOf } from '../../support/redisson-fair.js';
import { permitChannelOf, timeoutOf } from '../../support/redisson-permits.js';
import { channelOf as readWriteChannelOf, readerKeys } from '../../support/redisson-read-write.js';
import { channelOf } from '../../support/redisson.js';
import { CAPACITY } from '../counting.js';
import type { Primitive } from '../plan.js';
import type { Jvm } from './jvm.js';
import { FAIR, LOCK, READ, SEMAPHORE, WRITE, type JavaScript } from './scripts.js';

/** The wishes of a thread for one acquisition. */
export interface Wish {
  readonly key: string;
  readonly thread: string;
  readonly leaseMs: number;
  /** 0 is one attempt. */
  readonly waitMs: number;
}

type Step = () => Promise<{ readonly value: number | null; readonly sentAt: number }>;

/** An object of Redisson in the hands of one thread, for one acquisition. */
export interface JavaObject {
  readonly verb: string;
  readonly owner: string;
  readonly weight: number;
  readonly channel: string;
  readonly tryOnce: Step;
  readonly tryLock: Step;
  readonly unlock: Step;
  /** A waiter that gives up leaves the queue by it. */
  readonly giveUp?: Step;
  /** None: it ends with its lease. */
  readonly renew?: Step;
  /** Another hold of the thread inside of this one, which may outlive it. */
  readonly inside?: (jvm: Jvm, wish: Wish) => JavaObject;
  /** The thread that holds it may take it again. */
  readonly isReentrant: boolean;
}

/** The part in the queue of an attempt that does not wait. */
const FAIR_WAIT_MS = 300_000;
/** A reader keeps a writer out. */
const READER = 0.001;

const step =
  (
    jvm: Jvm,
    script: JavaScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Step =>
  () =>
    jvm.connection.run(script, keys, args);

function lock(jvm: Jvm, { key, thread, leaseMs }: Wish): JavaObject {
  const channel = channelOf(key);
  const tryLock = step(jvm, LOCK.tryLock, [key], [thread, leaseMs]);
  return {
    ...{ verb: 'lock', owner: thread, weight: 1, channel, isReentrant: true },
    ...{ tryOnce: tryLock, tryLock },
    unlock: step(jvm, LOCK.unlock, [key], [thread, channel]),
    renew: step(jvm, LOCK.renew, [key], [thread, leaseMs]),
  };
}

function fair(jvm: Jvm, { key, thread, leaseMs, waitMs }: Wish): JavaObject {
  const { queue, timeouts } = fairKeysOf(key);
  const of = (script: JavaScript, ...args: number[]) =>
    step(jvm, script, [key, queue, timeouts], [thread, channelOf(key), ...args]);
  return {
    ...{ verb: 'lock', owner: thread, weight: 1, isReentrant: true },
    channel: `${channelOf(key)}:${thread}`,
    tryOnce: of(FAIR.tryOnce, FAIR_WAIT_MS, leaseMs),
    tryLock: of(FAIR.tryLock, waitMs, leaseMs),
    giveUp: of(FAIR.giveUp, waitMs),
    unlock: of(FAIR.unlock),
    renew: step(jvm, LOCK.renew, [key], [thread, leaseMs]),
  };
}

function read(jvm: Jvm, { key, thread, leaseMs }: Wish): JavaObject {
  const channel = readWriteChannelOf(key);
  const keys = readerKeys(key, thread);
  const tryLock = step(jvm, READ.tryLock, keys, [thread, leaseMs]);
  return {
    ...{ verb: 'readLock', owner: thread, weight: READER, channel, isReentrant: true },
    ...{ tryOnce: tryLock, tryLock },
    unlock: step(jvm, READ.unlock, keys, [thread, channel]),
    renew: step(jvm, READ.renew, keys, [thread, leaseMs]),
  };
}

function write(jvm: Jvm, { key, thread, leaseMs }: Wish): JavaObject {
  const channel = readWriteChannelOf(key);
  const owner = `${thread}:write`;
  const tryLock = step(jvm, WRITE.tryLock, [key], [owner, leaseMs]);
  return {
    ...{ verb: 'writeLock', owner: thread, weight: 1, channel, isReentrant: false, inside: read },
    ...{ tryOnce: tryLock, tryLock },
    unlock: step(jvm, WRITE.unlock, [key], [owner, channel]),
    renew: step(jvm, LOCK.renew, [key], [owner, leaseMs]),
  };
}

function permits(jvm: Jvm, { key, leaseMs }: Wish): JavaObject {
  const channel = permitChannelOf(key);
  const keys = [key, timeoutOf(key)];
  const ids = Array.from({ length: jvm.random.pick([1, 1, 1, 2, 3]) }, () => jvm.permitId());
  const tryLock = step(jvm, SEMAPHORE.tryAcquire, keys, [channel, leaseMs, ...ids]);
  return {
    ...{ verb: 'acquire', owner: ids.join(), weight: ids.length / CAPACITY, channel },
    ...{ tryOnce: tryLock, tryLock, isReentrant: false },
    unlock: step(jvm, SEMAPHORE.release, keys, [channel, ...ids]),
  };
}

/** What Java threads hold of a primitive. */
export const OBJECTS: Partial<Record<Primitive, (jvm: Jvm, wish: Wish) => JavaObject>> = {
  ...{ lock, fair, semaphore: permits },
  'read-write': (jvm, wish) => (jvm.random.chance(0.4) ? write : read)(jvm, wish),
};
