import { timeoutError, type Acquisition, type Attempt, type Refusal } from './acquisition.js';
import type { Contenders } from './contenders.js';
import { Deadline, OVER } from './deadline.js';
import { enterFirst } from './enter-first.js';
import { enterNested } from './enter-nested.js';
import {
  describeValue,
  LockArgumentError,
  LockBackendError,
  quoteName,
  withLockName,
} from './errors.js';
import type { HoldProtocol, Inspection } from './hold-protocol.js';
import { HeldLease, type Lease } from './lease.js';
import type { LockContext } from './lock-context.js';
import type { AcquireOptions, Lock, LockedWork } from './lock.js';
import { tell } from './observer.js';
import { resolveAcquireOptions } from './options.js';
import { surroundingLease } from './owner-scope.js';
import { ANSWER_MS, type Reply } from './redis-connection.js';
import { runLocked } from './run-locked.js';
import { untilAnswered } from './until-answered.js';

/** All locks of one kind on one connection. */
export abstract class NamedLocks {
  readonly #contenders: Contenders;

  constructor(
    private readonly context: LockContext,
    private readonly protocol: HoldProtocol,
  ) {
    this.#contenders = context.contendersOf(protocol);
  }

  /** {@inheritDoc Lock.acquire} */
  async acquire(name: string, options?: AcquireOptions): Promise<Lease> {
    return this.#acquire(name, options);
  }

  /** {@inheritDoc Lock.tryAcquire} */
  async tryAcquire(name: string, options?: AcquireOptions): Promise<Lease | null> {
    const taken = await this.#take(this.#acquisition(name, options, 0));
    return taken instanceof HeldLease ? taken : null;
  }

  /** {@inheritDoc Lock.using} */
  async using<T>(name: string, work: LockedWork<T>, options?: AcquireOptions): Promise<Awaited<T>> {
    if (typeof work !== 'function') {
      throw new LockArgumentError(`using needs a function to run, not ${describeValue(work)}`);
    }
    return runLocked(await this.#acquire(name, options), work);
  }

  /**
   * The lock of this name, with the same verbs. Costs nothing: nothing is sent, nothing is kept.
   * @throws {LockKeyError} the name cannot be used
   */
  get(name: string): Lock {
    this.context.keys.key(name);
    return {
      name,
      acquire: (options) => this.acquire(name, options),
      tryAcquire: (options) => this.tryAcquire(name, options),
      using: (work, options) => this.using(name, work, options),
      isLocked: async () => (await this.#inspect(name)).owner !== undefined,
      remainingTimeMs: async () => (await this.#inspect(name)).remainingMs,
      forceRelease: () => this.#forceRelease(name),
    };
  }

  async #acquire(name: string, options: AcquireOptions | undefined): Promise<HeldLease> {
    const acquisition = this.#acquisition(name, options, this.context.settings.waitTimeMs);
    const taken = await this.#take(acquisition);
    if (taken instanceof HeldLease) return taken;
    throw timeoutError(acquisition, taken);
  }

  #acquisition(
    name: string,
    options: AcquireOptions | undefined,
    defaultWaitMs: number,
  ): Acquisition {
    const { context, protocol } = this;
    const resolved = resolveAcquireOptions(options, context.settings, defaultWaitMs);
    const once = resolved.waitTimeMs === 0;
    const limitMs = once ? ANSWER_MS : resolved.waitTimeMs;
    return {
      context,
      protocol,
      name,
      key: context.keys.key(name),
      options: resolved,
      deadline: new Deadline(context.clock, limitMs, resolved.signal),
      once,
    };
  }

  async #take(acquisition: Acquisition): Promise<HeldLease | Refusal> {
    const { name, deadline } = acquisition;
    const attempt = await this.#attempt(acquisition);
    if (!(attempt instanceof HeldLease)) {
      if (!acquisition.once) {
        const { observer } = this.context.settings;
        tell(observer, { type: 'timed-out', name, waitedMs: deadline.waitedMs });
      }
    } else if (acquisition.options.signal?.aborted === true) {
      // Aborted between the answer and here.
      await attempt[Symbol.asyncDispose]();
      throw acquisition.options.signal.reason;
    }
    return attempt;
  }

  async #attempt(acquisition: Acquisition): Promise<HeldLease | Refusal> {
    const { protocol, key, name, options } = acquisition;
    for (;;) {
      const parent = surroundingLease(protocol, key);
      let attempt: Attempt;
      try {
        attempt = await (parent === undefined
          ? enterFirst(acquisition, this.#contenders)
          : enterNested(acquisition, parent));
      } catch (error) {
        const isAbort = options.signal?.aborted === true && error === options.signal.reason;
        throw isAbort ? error : withLockName(error, name);
      }
      if (attempt !== 'again') return attempt;
    }
  }

  #inspect(name: string): Promise<Inspection> {
    return this.#ask(name, (key) => this.protocol.inspect(key));
  }

  async #forceRelease(name: string): Promise<boolean> {
    const { owner } = await this.#inspect(name);
    if (owner === undefined) return false;
    // Naming the owner keeps a repeated script from freeing the lock of whoever comes next.
    await this.#ask(name, (key) => this.protocol.leave(key, owner, 0));
    tell(this.context.settings.observer, { type: 'force-released', name });
    return true;
  }

  async #ask<R>(name: string, question: (key: string) => Promise<Reply<R>>): Promise<R> {
    const { connection, clock, keys } = this.context;
    const key = keys.key(name);
    const deadline = new Deadline(clock, ANSWER_MS, undefined);
    const until = () => (deadline.remainingMs === 0 ? -Infinity : Infinity);
    try {
      const reply = await deadline.race(
        untilAnswered(connection, clock, until, () => question(key)),
      );
      if (reply !== OVER) return reply.value;
    } catch (error) {
      throw withLockName(error, name);
    }
    throw new LockBackendError(
      `Lock ${quoteName(name)}: Redis has not answered for ${String(ANSWER_MS)} ms`,
      { lockName: name, retryable: true, outcome: 'unknown' },
    );
  }
}
