import type { Seat } from './callers.js';
import type { LockBackendError } from '../api/errors.js';
import type { Hold } from '../holding/hold.js';
import type { Claim, AcquireAnswer, OwnerId } from '../holding/protocol.js';
import type { KeyUse } from './keys-in-use.js';
import type { LockContext } from '../lock-context.js';
import type { Reply } from '../redis/connection.js';

export type Grant = Reply<AcquireAnswer & { kind: 'granted' }>;
export type BusyAnswer = AcquireAnswer & { kind: 'busy' };

/** How an attempt ended: granted, or somebody else has the lock and the caller has no time to wait. */
export type Outcome =
  | { readonly kind: 'granted'; readonly reply: Grant }
  | { readonly kind: 'busy'; readonly remainingMs: number };

export interface Candidate {
  readonly owner: OwnerId;
  /** It begins with the grant, and needs neither token nor replicas first. */
  readonly starts: boolean;
}

/** What those who wait for a key are told, and where. */
export interface Channels {
  /** That it should try again. */
  readonly wakeUp: string;
  /** Nothing: to listen here says that whoever listens there is a process of ours. */
  readonly nodes?: string | undefined;
  /** That it has got what another has handed on. */
  readonly handOff?: HandOff;
}

export interface HandOff {
  /** May be that of the wake-ups: what is no grant is a reason to try again then. */
  readonly grants: string;
  /** A grant for an owner that nobody waits with. */
  giveBack?(owner: OwnerId): Promise<void>;
}

/** Where a contender waits. */
export interface WaitingPlace {
  readonly key: string;
  /** Contenders that give the same one stand in line. */
  readonly line: string;
  /** Each has a place of its own in Redis, and the first of a process asks for all of them. */
  readonly isLed?: boolean;
  /** Where it hears what; asked for when somebody has to wait. */
  channels(): Channels;
  /** Takes away the place of another owner of this process, who waits no more. Never rejects. */
  withdraw?(owner: OwnerId): Promise<void>;
}

/** What the queues of callers need to know of their surroundings. */
export interface QueueHost {
  readonly context: LockContext;
  /** One grant says nothing about the next. */
  readonly isShared: boolean;
  /** Who has it in this process, if it can be handed on. */
  holder(use: KeyUse): Hold | undefined;
  /** It was left to outsiders a moment ago: the queue is told when that is over. */
  standsBack(line: string): boolean;
  /** True while this owner, whose lease was released here, still holds the key in Redis (`minHoldMs`). */
  isKeptBy(owner: OwnerId): boolean;
  /** Whether it asks now and then, and not another one for it. */
  polls(place: WaitingPlace): boolean;
  /** Passes on an answer that concerns other waiters of the key; `before` is the last known answer. */
  heard(place: WaitingPlace, answer: BusyAnswer, before: LastAnswer): void;
  /** Nobody waits there, and no attempt is on its way any more. */
  onIdle(place: WaitingPlace): void;
}

/** One local caller that wants a key. */
export interface Contender {
  /** Where it waits; only the callers that it waits among write this. */
  seat: Seat | undefined;
  readonly name: string;
  readonly leaseTimeMs: number;
  /** What there is to know of it for whoever hands on what it waits for. */
  readonly candidate?: Candidate | undefined;
  readonly waitedMs: number;
  /** Content with one answer of Redis, whatever it is. */
  readonly once: boolean;
  /** It was granted what it wants. */
  readonly hasLock: boolean;
  /** An attempt may have been executed although it failed. */
  readonly isUncertain: boolean;
  /** Sends its attempt; always for the same owner, so that a repeated one is the same one. */
  ask(
    claim: Claim | undefined,
    answered: (reply: Reply<AcquireAnswer>) => void,
    failed: (error: unknown) => void,
  ): void;
  /** A script of another owner may make it the next one: until it is answered, nothing else is sent. */
  isNamedBy(running: Promise<unknown>): void;
  settle(outcome: Outcome): void;
  fail(error: Error): void;
  /** An attempt went through, or may have, although the caller had left meanwhile. */
  tooLate(): Promise<void>;
}

/** What is known of a key from the last attempt of this process; `none` if Redis does not answer. */
export type LastAnswer =
  | { readonly kind: 'none' }
  | { readonly kind: 'busy'; readonly remainingMs: number }
  | { readonly kind: 'failed'; readonly error: LockBackendError };

/** What a caller takes along when it leaves. */
export interface Departure {
  readonly last: LastAnswer;
  /** Its attempt is on its way; `tooLate` will be called if it turns out to have been granted. */
  readonly isAsking: boolean;
}
