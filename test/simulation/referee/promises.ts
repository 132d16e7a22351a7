import type { Lease } from '../../../libs/redis-lock/src/core/api/lease.js';
import type { FaultName } from '../plan.js';
import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { Held } from '../states.js';

/** The promises of the library in `docs/guarantees.md`, as the referee calls it. */
export type Promised =
  | 'exclusion'
  | 'valid grant'
  | 'held in Redis'
  | 'lease ends'
  | 'minimum hold'
  | 'rising tokens'
  | 'stale write refused'
  | 'order of callers'
  | 'turns of processes'
  | 'turns of siblings'
  | 'order of readers and writers'
  | 'reason for a loss'
  | 'reason for an error'
  | 'waiting time'
  | 'limits'
  | 'release'
  | 'hold count'
  | 'permits'
  | 'latch'
  | 'share of Java'
  | 'once in a slot'
  | 'progress'
  | 'late grants'
  | 'dead waiters'
  | 'nothing left'
  | 'events'
  | 'shutdown';

/** A broken promise ends its history. */
export interface Violation {
  readonly promise: Promised;
  readonly text: string;
}

/** One call for a lease. */
export interface Asked {
  readonly call: number;
  readonly process: SimulatedProcess;
  readonly key: string;
  readonly at: number;
  /** 1 excludes all others; readers and permits take a part. */
  readonly weight: number;
  readonly waitTimeMs: number;
  /** The lease that it wants. */
  readonly askedMs: number;
  /** The holds of the caller that it may join, one for each key. */
  readonly parents: readonly Stay[];
  readonly isNested: boolean;
  /** Callers of other processes that share it, such as readers, have no order among them. */
  readonly inOrder: boolean;
}

/** A lease, as far as it concerns the referee. */
export type HeldLease = Pick<Lease, 'owner' | 'remainingMs' | 'fencingToken' | 'assertHeld'> &
  // Java has none.
  Partial<Pick<Lease, 'state'>>;

/** A Java thread that wants a hold. */
export interface Outsider extends Asked {
  /** Only a message wakes it then, or the end of the lease that it has seen. */
  asleepSince: number | undefined;
}

export interface Stay extends Asked {
  readonly lease: HeldLease;
  /** When its caller learned of the grant. */
  readonly grantedAt: number;
  /** The longest of its hold. */
  leaseMs: number;
  /** No renewal: it may end by itself. */
  readonly isFixed: boolean;
  /**
   * It ends by itself, at the latest then; `Infinity` if it is renewed until its release. No
   * suspension of its process counts.
   */
  endsBy: number;
  /** The longest of its hold, too. */
  minHoldMs: number;
  /** Aborted once the lease is lost, if its caller has read it. */
  readonly signal?: AbortSignal | undefined;
}

/** Rules about Java services with Redisson. */
export interface JavaRules {
  /** The lease of their watchdog. */
  readonly leaseMs: number;
  /** They share it in turns with the processes. */
  readonly isShared: boolean;
  /** Its own message is lost for a thread that is about to sleep: Redisson's read-write lock. */
  readonly wakesOnlySleepers: boolean;
}

/** Rules that differ from primitive to primitive. */
export interface Rules {
  /** The hold of this owner, as the servers store it. */
  held(key: string, owner: string): Held | undefined;
  /** All owners that the servers know. */
  owners(key: string): readonly string[];
  /**
   * A fair queue waits until the score of its head has passed. It is a Java thread, dead or alive, or
   * Redis has evicted what told that it is dead.
   */
  waitsForScore(key: string): boolean;
  /** Owners that the servers make the next without a message. */
  unheard(key: string): readonly string[];
  /** `held` tells everything: one server decides. */
  readonly isKnown: boolean;
  /** An owner has a hold count. */
  readonly isCounted: boolean;
  /** Whether it is free for every caller. */
  isFree(key: string): boolean;
  /** A free one is found within this time. */
  readonly freeMs: number;
  /** So it is even if messages are lost. */
  readonly pollMs: number;
  /** The longest time for which the dead, or a lost message, keep others out. */
  readonly settleMs: number;
  /** All processes share one order. */
  readonly isFair: boolean;
  /** Processes take turns: the most sections of one in a row, and their time; 0 for no such rule. */
  readonly batch: { readonly most: number; readonly ms: number };
  /** Callers want different numbers of permits. */
  readonly isOfPermits: boolean;
  /** Readers and writers take turns. */
  readonly isOfTwoSides: boolean;
  /** No fault of this history makes an outcome uncertain. */
  readonly isCertain: boolean;
  /** The clock of Redis is never set. */
  readonly isClockSure: boolean;
  /** Each call has its answer, though it may be sent again. */
  readonly isAnswered: boolean;
  /** Nothing keeps a process from its shutdown. */
  readonly isSmooth: boolean;
  /** A suspension that is no longer makes no lease suspect. */
  unnoticedMs(leaseMs: number): number;
  /** Waiters have subscriptions, and Redis knows which of them are gone. */
  readonly isHeard: boolean;
  /** Redis learns of each death by the end of a subscription. */
  readonly knowsDeaths: boolean;
  /** A call waits for several keys, one after the other. */
  readonly isOfSeveralKeys: boolean;
  readonly maxWaitersPerKey: number;
  /** Java services take part. */
  readonly java: JavaRules | undefined;
  /** Redis may forget by this fault what it has granted: how long after it has ended. */
  lossMs(fault: FaultName): number | undefined;
}

/** Answers and timers are late by less, unless something disturbs them. */
export const SLACK_MS = 60;
export const MARGIN_MS = 5;
/** Tokens and messages need some time on their way. */
export const ON_ITS_WAY_MS = 50;

export function of({ call, process }: Pick<Asked, 'call' | 'process'>): string {
  return `call ${String(call)} of ${process.name}`;
}

export function isHeld({ lease }: Stay): boolean {
  try {
    lease.assertHeld();
    return true;
  } catch {
    return false;
  }
}

/** The hold that this one has joined. */
export function parentOf({ parents, key }: Asked): Stay | undefined {
  return parents.findLast((parent) => parent.key === key);
}

export function isInside(stay: Stay, outer: Stay): boolean {
  const parent = parentOf(stay);
  return parent !== undefined && (parent === outer || isInside(parent, outer));
}

/** The first call of the hold. */
export function rootOf(stay: Stay): Stay {
  const parent = parentOf(stay);
  return parent === undefined ? stay : rootOf(parent);
}
