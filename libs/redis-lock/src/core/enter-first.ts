import { leaseOf, noAnswerError, type Acquisition, type Attempt } from './acquisition.js';
import type { Contender, Departure, LastAnswer, Outcome } from './contender.js';
import type { Contenders } from './contenders.js';
import { OVER } from './deadline.js';
import { LockBackendError, LockShutdownError } from './errors.js';
import { Hold } from './hold.js';
import { tell } from './observer.js';
import { asUnknown } from './until-answered.js';

/** A wait that takes longer is worth a warning. */
const SLOW_WAIT_MS = 1_000;

/** Acquires the lock for a new owner, in turn with all other callers of this process. */
export async function enterFirst(
  acquisition: Acquisition,
  contenders: Contenders,
): Promise<Attempt> {
  const { context, protocol, name, key, options, deadline } = acquisition;
  if (context.isClosing) throw new LockShutdownError(name);
  const hold = new Hold(protocol, name, key, context.newOwner(), context.clock);
  const caller = new Caller(acquisition, hold);
  let departure: Departure | undefined;

  const outcome = await deadline.wait<Outcome>((resolve, reject) => {
    caller.settle = resolve;
    caller.fail = reject;
    const leave = contenders.enter(key, caller);
    return () => {
      departure = leave();
      if (caller.isUncertain && !departure.isAsking) void caller.giveUp();
    };
  });

  if (outcome === OVER) {
    const last = departure?.last ?? { kind: 'none' };
    // One that does not wait was answered during its call, or not at all.
    if (last.kind === 'busy' && !caller.once)
      return { remainingMs: last.remainingMs, blockedBy: 'other' };
    const isUnknown = caller.isUncertain || departure?.isAsking === true;
    const cause = last.kind === 'failed' ? last.error : undefined;
    throw noAnswerError(acquisition, isUnknown ? 'unknown' : 'none', cause);
  }
  if (outcome.kind === 'busy') return { remainingMs: outcome.remainingMs, blockedBy: 'other' };

  const { sentAt, value } = outcome.reply;
  hold.confirm(sentAt, options.leaseTimeMs);
  if (hold.remainingMs > 0 && !hold.isSuspended()) {
    return leaseOf(acquisition, hold, value.fencingToken, undefined);
  }
  // The answer took longer than the lease, or the machine stood still: what was granted may be over.
  void caller.giveUp();
  return 'again';
}

class Caller implements Contender {
  readonly name: string;
  readonly once: boolean;
  readonly leaseTimeMs: number;
  isUncertain = false;
  settle: (outcome: Outcome) => void = () => undefined;
  fail: (error: Error) => void = () => undefined;
  #isSlow = false;

  constructor(
    private readonly acquisition: Acquisition,
    private readonly hold: Hold,
  ) {
    this.name = acquisition.name;
    this.once = acquisition.once;
    this.leaseTimeMs = acquisition.options.leaseTimeMs;
  }

  async ask(): ReturnType<Contender['ask']> {
    const { leaseTimeMs, fenced } = this.acquisition.options;
    try {
      const reply = await this.hold.enter({ holdCount: 1, leaseTimeMs, fenced });
      this.isUncertain = false;
      return reply;
    } catch (error) {
      if (!(error instanceof LockBackendError)) throw error;
      if (error.outcome === 'unknown') this.isUncertain = true;
      throw this.isUncertain ? asUnknown(error) : error;
    }
  }

  stillWaiting(last: LastAnswer): void {
    const { context, deadline, name } = this.acquisition;
    const { waitedMs } = deadline;
    if (this.#isSlow || waitedMs < SLOW_WAIT_MS) return;
    this.#isSlow = true;
    const why = last.kind === 'busy' ? {} : { error: backendErrorOf(last) };
    tell(context.settings.observer, { type: 'waiting', name, waitedMs, ...why });
  }

  async tooLate(): Promise<void> {
    tell(this.acquisition.context.settings.observer, { type: 'late-grant', name: this.name });
    await this.giveUp();
  }

  giveUp(): Promise<void> {
    const { context, options } = this.acquisition;
    return context.keeper.abandon(this.hold, options.leaseTimeMs);
  }
}

function backendErrorOf(last: LastAnswer & { kind: 'none' | 'failed' }): LockBackendError {
  if (last.kind === 'failed') return last.error;
  return new LockBackendError('Redis has not answered', { retryable: true, outcome: 'unknown' });
}
