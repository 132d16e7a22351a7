import type { Acquisition, Attempt } from './acquisition.js';
import type { Contenders } from './contenders.js';
import { Deadline } from './deadline.js';
import { enterFirst } from './enter-first.js';
import { enterNested } from './enter-nested.js';
import { describeValue, LockArgumentError, withLockName } from './errors.js';
import type { HoldProtocol } from './hold-protocol.js';
import { HeldLease } from './lease.js';
import type { LockContext } from './lock-context.js';
import { tell } from './observer.js';
import { resolveAcquireOptions, type AnyAcquireOptions } from './options.js';
import { surroundingLease } from './owner-scope.js';
import { ANSWER_MS, type Reply } from './redis-connection.js';
import { runLocked } from './run-locked.js';
import { answerWithin } from './until-answered.js';
import { timeoutError, type Refusal } from './wait-in-turn.js';

/** The three verbs by which leases are had, for everything of one kind on one connection. */
export class Acquirer {
  readonly #contenders: Contenders;

  constructor(
    private readonly context: LockContext,
    private readonly protocol: HoldProtocol,
  ) {
    this.#contenders = context.contenders(protocol.isShared);
  }

  async acquire(name: string, options: AnyAcquireOptions | undefined): Promise<HeldLease> {
    const acquisition = this.#acquisition(name, options, this.context.settings.waitTimeMs);
    const taken = await this.#take(acquisition);
    if (taken instanceof HeldLease) return taken;
    throw timeoutError(acquisition, taken);
  }

  async tryAcquire(
    name: string,
    options: AnyAcquireOptions | undefined,
  ): Promise<HeldLease | null> {
    const taken = await this.#take(this.#acquisition(name, options, 0));
    return taken instanceof HeldLease ? taken : null;
  }

  async using<T>(
    name: string,
    work: (lease: HeldLease) => T,
    options: AnyAcquireOptions | undefined,
  ): Promise<Awaited<T>> {
    checkWork(work);
    return runLocked(await this.acquire(name, options), work);
  }

  #acquisition(
    name: string,
    options: AnyAcquireOptions | undefined,
    defaultWaitMs: number,
  ): Acquisition {
    const { context, protocol } = this;
    const resolved = resolveAcquireOptions(
      options,
      context.settings,
      defaultWaitMs,
      protocol.options,
    );
    const once = resolved.waitTimeMs === 0;
    const limitMs = once ? ANSWER_MS : resolved.waitTimeMs;
    const key = context.keys.key(name);
    return {
      context,
      protocol,
      name,
      key,
      options: resolved,
      companion: undefined,
      wasGranted: false,
      deadline: new Deadline(context.clock, limitMs, resolved.signal),
      once,
    };
  }

  async #take(acquisition: Acquisition): Promise<HeldLease | Refusal> {
    const { name, deadline, options, once } = acquisition;
    let attempt: Attempt;
    try {
      do attempt = await this.#attempt(acquisition);
      while (attempt === 'again');
    } catch (error) {
      const isAbort = options.signal?.aborted === true && error === options.signal.reason;
      throw isAbort ? error : withLockName(error, name);
    }
    if (!(attempt instanceof HeldLease)) {
      const { observer } = this.context.settings;
      if (!once) tell(observer, { type: 'timed-out', name, waitedMs: deadline.waitedMs });
    } else if (options.signal?.aborted === true) {
      // Aborted between the answer and here.
      await attempt[Symbol.asyncDispose]();
      throw options.signal.reason;
    }
    return attempt;
  }

  #attempt(acquisition: Acquisition): Promise<Attempt> {
    const { protocol, key, name } = acquisition;
    // Each time: while the call waited, the hold that it would have joined may have been released.
    acquisition.companion = protocol.companion?.(key, name);
    const parent = protocol.nesting === 'none' ? undefined : surroundingLease(protocol, key);
    if (parent === undefined) return enterFirst(acquisition, this.#contenders);
    return enterNested(acquisition, parent);
  }
}

/** @throws {LockArgumentError} it is no function */
export function checkWork(work: unknown): void {
  if (typeof work === 'function') return;
  throw new LockArgumentError(`using needs a function to run, not ${describeValue(work)}`);
}

/**
 * Resolves with the answer to something that may be asked twice without harm.
 * @throws {LockBackendError} Redis has not answered in time, or refused
 */
export async function askOnce<R>(
  context: LockContext,
  name: string,
  question: (key: string) => Promise<Reply<R>>,
): Promise<R> {
  const key = context.keys.key(name);
  return (await answerWithin(ANSWER_MS, context, name, () => question(key))).value;
}
