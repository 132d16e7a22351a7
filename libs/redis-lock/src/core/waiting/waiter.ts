import type { Seat } from './callers.js';
import type {
  Candidate,
  Contender,
  Departure,
  Grant,
  LastAnswer,
  Outcome,
  WaitingPlace,
} from './contender.js';
import type { WaitQueues } from './wait-queues.js';
import { SLOW_WAIT_MS, type Deadline, type Waiter } from '../time/deadline.js';
import {
  LockBackendError,
  LockShutdownError,
  LockTimeoutError,
  quoteName,
  type BackendOutcome,
} from '../api/errors.js';
import type { Claim, AcquireAnswer } from '../holding/protocol.js';
import type { LockContext } from '../lock-context.js';
import { tell, type Subject } from '../api/observer.js';
import { outOfScope } from '../holding/scope.js';
import type { Reply } from '../redis/connection.js';
import { asUnknown, notAnswered } from '../redis/retry.js';

/** One call that may have to wait. */
export interface Call extends Subject {
  readonly context: LockContext;
  readonly deadline: Deadline;
  /** The caller does not wait for the lock, only for one answer. */
  readonly once: boolean;
}

/** Somebody else has it. */
export interface Refusal {
  readonly remainingMs: number;
  readonly blockedBy: 'other' | 'sibling';
}

/** What a call does when its turn comes. */
export interface Turn extends WaitingPlace {
  /** How long nobody else gets in after a grant. */
  readonly leaseTimeMs: number;
  /** A refused attempt leaves something in Redis. */
  readonly leavesTrace: boolean;
  readonly candidate?: Candidate;
  /** However many wait: what surrounds the call lets it in at once, or it was admitted before. */
  readonly isLetIn?: boolean;
  /** Always for the same owner or request, so that a repeated attempt is the same one. */
  ask(claim?: Claim): Promise<Reply<AcquireAnswer>>;
  /** A script of another owner, which is on its way just now, may make this one the next. */
  isNamedBy?(running: Promise<unknown>): void;
  /** Gives back what an attempt got, or may still get, and takes away its trace. Never rejects. */
  giveUp(): Promise<void>;
}

/**
 * Resolves once Redis has granted what the call wants, or refused it for as long as the call waits.
 * @throws {LockBackendError} Redis could not be asked
 * @throws {LockLimitError} too many wait, or too many keys are in use
 * @throws {LockShutdownError} the application is closing
 */
export function waitInTurn(
  call: Call,
  contenders: WaitQueues,
  turn: Turn,
): Promise<Grant | Refusal> {
  if (call.context.isClosing) throw new LockShutdownError(call.name);
  contenders.admit(call, turn);
  const caller = new Caller(call, turn, contenders);
  let departure: Departure | undefined;
  return call.deadline.waitOr<Grant | Refusal, Refusal>(
    (resolve, reject) => {
      caller.resolve = resolve;
      caller.fail = reject;
      const leave = contenders.enter(turn, caller);
      return () => {
        departure = leave();
        caller.depart(departure);
      };
    },
    () => refusalOf(call, caller, departure),
    caller,
  );
}

function refusalOf(call: Call, caller: Caller, departure: Departure | undefined): Refusal {
  const last = departure?.last ?? { kind: 'none' };
  // One that does not wait was answered during its call, or not at all.
  if (last.kind === 'busy' && !call.once)
    return { remainingMs: last.remainingMs, blockedBy: 'other' };
  const isUnknown = caller.isUncertain || departure?.isAsking === true;
  const cause = last.kind === 'failed' ? last.error : undefined;
  throw noAnswerError(call, isUnknown ? 'unknown' : 'none', cause);
}

export function timeoutError({ name, deadline }: Call, refusal: Refusal): LockTimeoutError {
  return new LockTimeoutError(name, {
    waitedMs: deadline.waitedMs,
    retryAfterMs: refusal.remainingMs,
    blockedBy: refusal.blockedBy,
  });
}

export function noAnswerError(
  { name, deadline }: Call,
  outcome: BackendOutcome,
  cause?: LockBackendError,
): LockBackendError {
  const what = `Lock ${quoteName(name)} was not acquired`;
  return notAnswered(what, deadline.waitedMs, { lockName: name, outcome, cause });
}

const NOTHING = () => undefined;

class Caller implements Contender, Waiter {
  readonly name: string;
  readonly once: boolean;
  readonly leaseTimeMs: number;
  seat: Seat | undefined;
  hasLock = false;
  isUncertain = false;
  resolve: (answer: Grant | Refusal) => void = NOTHING;
  fail: (error: Error) => void = NOTHING;
  /** An attempt may have left a trace. */
  #mayBeRemembered = false;
  /** A script of another owner may have, whatever becomes of its own attempts. */
  #wasNamed = false;
  #hasGivenUp = false;
  #isSlow = false;

  constructor(
    private readonly call: Call,
    private readonly turn: Turn,
    private readonly contenders: WaitQueues,
  ) {
    this.name = call.name;
    this.once = call.once;
    this.leaseTimeMs = turn.leaseTimeMs;
  }

  get candidate(): Candidate | undefined {
    return this.turn.candidate;
  }

  get waitedMs(): number {
    return this.call.deadline.waitedMs;
  }

  settle(outcome: Outcome): void {
    this.hasLock = outcome.kind === 'granted';
    if (outcome.kind === 'granted') this.resolve(outcome.reply);
    else this.resolve({ remainingMs: outcome.remainingMs, blockedBy: 'other' });
  }

  isNamedBy(running: Promise<unknown>): void {
    this.#wasNamed = true;
    this.turn.isNamedBy?.(running);
  }

  ask(
    claim: Claim | undefined,
    answered: (reply: Reply<AcquireAnswer>) => void,
    failed: (error: unknown) => void,
  ): void {
    const wasRemembered = this.#mayBeRemembered;
    if (claim !== undefined || (this.turn.leavesTrace && !this.once)) this.#mayBeRemembered = true;
    this.turn.ask(claim).then(
      (reply) => {
        this.isUncertain = false;
        answered(reply);
      },
      (error: unknown) => {
        const failure = error instanceof LockBackendError ? error : undefined;
        if (failure?.outcome === 'unknown') this.isUncertain = true;
        else this.#mayBeRemembered = wasRemembered;
        failed(failure !== undefined && this.isUncertain ? asUnknown(failure) : error);
      },
    );
  }

  stillWaiting(): void {
    const { context, deadline, name, kind, label } = this.call;
    const { waitedMs } = deadline;
    if (this.#isSlow || waitedMs < SLOW_WAIT_MS) return;
    this.#isSlow = true;
    const last = this.contenders.known(this.turn);
    const why = last.kind === 'busy' ? {} : { error: backendErrorOf(last) };
    tell(context.settings.observer, { type: 'waiting', name, kind, label, waitedMs, ...why });
  }

  /** It does not wait any more, for whatever reason. */
  depart({ isAsking }: Departure): void {
    if (this.hasLock) return;
    const mayHaveGot = this.isUncertain && !isAsking;
    if (mayHaveGot || this.#mayBeRemembered || this.#wasNamed) void this.#giveUp();
  }

  tooLate(): Promise<void> {
    const { context, name, kind, label } = this.call;
    return outOfScope(() => {
      tell(context.settings.observer, { type: 'late-grant', name, kind, label });
      return this.#giveUp();
    });
  }

  #giveUp(): Promise<void> {
    if (this.#hasGivenUp) return Promise.resolve();
    this.#hasGivenUp = true;
    return this.turn.giveUp();
  }
}

function backendErrorOf(last: LastAnswer & { kind: 'none' | 'failed' }): LockBackendError {
  if (last.kind === 'failed') return last.error;
  return new LockBackendError('Redis has not answered', { retryable: true, outcome: 'unknown' });
}
