import { traced } from './trace.js';
import type { Acquisition, Attempt } from './acquisition.js';
import type { WaitQueues } from './waiting/wait-queues.js';
import { Deadline } from './time/deadline.js';
import { enterFirst } from './enter-first.js';
import { enterNested } from './join.js';
import { describeValue, LockArgumentError, withLockName } from './api/errors.js';
import type { HoldProtocol } from './holding/protocol.js';
import { HeldLease } from './holding/held-lease.js';
import type { LockContext } from './lock-context.js';
import { tell } from './api/observer.js';
import { resolveAcquireOptions, type AnyAcquireOptions } from './api/options.js';
import { surroundingLease } from './holding/scope.js';
import { ANSWER_MS, type Reply } from './redis/connection.js';
import { runLocked } from './holding/run-locked.js';
import { answerWithin } from './redis/retry.js';
import { timeoutError, type Refusal } from './waiting/waiter.js';

/** The three verbs by which leases are had, for everything of one kind on one connection. */
export class Acquirer {
  readonly #contenders: WaitQueues;

  constructor(
    private readonly context: LockContext,
    private readonly protocol: HoldProtocol,
  ) {
    this.#contenders = context.queues(protocol.isShared);
  }

  acquire(name: string, options: AnyAcquireOptions | undefined): Promise<HeldLease> {
    return this.#take(name, options, this.context.settings.waitTimeMs, refuse);
  }

  tryAcquire(name: string, options: AnyAcquireOptions | undefined): Promise<HeldLease | null> {
    return this.#take(name, options, 0, () => null);
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
      kind: protocol.kind,
      label: resolved.label,
      key,
      options: resolved,
      companion: undefined,
      wasGranted: false,
      deadline: new Deadline(context.clock, limitMs, resolved.signal),
      once,
    };
  }

  #take<R>(
    name: string,
    options: AnyAcquireOptions | undefined,
    defaultWaitMs: number,
    refused: (acquisition: Acquisition, refusal: Refusal) => R,
  ): Promise<HeldLease | R> {
    let acquisition: Acquisition;
    try {
      acquisition = this.#acquisition(name, options, defaultWaitMs);
    } catch (error) {
      const reason = error as Error;
      return Promise.reject(reason);
    }
    const take = () => this.#settle(acquisition, refused);
    return traced(acquisition, take, (taken) => !(taken instanceof HeldLease));
  }

  async #settle<R>(
    acquisition: Acquisition,
    refused: (acquisition: Acquisition, refusal: Refusal) => R,
  ): Promise<HeldLease | R> {
    const { deadline, once, name, kind, label } = acquisition;
    const { minHoldMs } = acquisition.options;
    let attempt: Attempt;
    try {
      do attempt = await this.#attempt(acquisition);
      while (attempt === 'again');
    } catch (error) {
      throw deadline.isAbort(error) ? error : withLockName(error, name);
    }
    if (attempt instanceof HeldLease) {
      if (deadline.isAborted) {
        // Between the answer and here.
        await attempt[Symbol.asyncDispose]();
        deadline.refuseAborted();
      }
      attempt.hold.keepFor(minHoldMs);
      return attempt;
    }
    const { observer } = this.context.settings;
    if (!once) {
      tell(observer, { type: 'timed-out', name, kind, label, waitedMs: deadline.waitedMs });
    }
    return refused(acquisition, attempt);
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

function refuse(acquisition: Acquisition, refusal: Refusal): never {
  throw timeoutError(acquisition, refusal);
}

/** @throws {LockArgumentError} it is no function, or one whose body does not run when it is called */
export function checkWork(work: unknown): void {
  if (typeof work === 'function' && !isGenerator(work)) return;
  const what =
    typeof work === 'function' ? 'a generator, whose body would not run' : describeValue(work);
  throw new LockArgumentError(`using needs a function to run, not ${what}`);
}

/** True also for a generator of another realm. */
export function isGenerator(work: object): boolean {
  const kind: unknown = Reflect.get(work, Symbol.toStringTag);
  return kind === 'AsyncGeneratorFunction' || kind === 'GeneratorFunction';
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
