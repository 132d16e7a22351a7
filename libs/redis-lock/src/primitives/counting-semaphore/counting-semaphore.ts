import { askOnce } from '../../core/acquirer.js';
import { traced } from '../../core/trace.js';
import type { WaitQueues } from '../../core/waiting/wait-queues.js';
import { Deadline } from '../../core/time/deadline.js';
import { LockArgumentError, withLockName } from '../../core/api/errors.js';
import type { LockContext } from '../../core/lock-context.js';
import { tell } from '../../core/api/observer.js';
import { checkCount, LARGEST_COUNT, resolveAcquireOptions } from '../../core/api/options.js';
import { isPlainObject, unknownOption } from '../../core/api/shapes.js';
import { ANSWER_MS } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, OnceOnly } from '../../core/once-only.js';
import { timeoutError, waitInTurn, type Call, type Refusal } from '../../core/waiting/waiter.js';
import { channelOf, CountingRequest } from './counting-request.js';
import { AVAILABLE, CHANGE, DRAIN, TRY_SET_PERMITS } from './counting-semaphore.scripts.js';

/** How to wait for permits that are no leases. */
export interface CountingAcquireOptions {
  /**
   * How long to wait, in milliseconds; 0 is one attempt, `Infinity` waits for ever.
   * @default `waitTimeMs` of the module for `acquire`, 0 for `tryAcquire`
   */
  readonly waitTimeMs?: number | undefined;
  /** Ends the waiting: it rejects with the signal's reason, and nothing is taken. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A bare number of permits, as Redisson's `RSemaphore`. Nobody owns a permit and none of them ends:
 * what a crashed holder had is gone until somebody adds it again. A semaphore whose permits are leases
 * has no such hole. Numbers of permits are whole, from 1 to 2,147,483,647.
 *
 * Every method rejects with `LockBackendError` when Redis could not be asked, and with
 * `LockStateError` when the key holds something that is no count.
 */
export interface CountingSemaphore {
  readonly name: string;

  /**
   * Sets the free permits, if nobody has before.
   * @param options.ttlMs after so many milliseconds the semaphore is gone, whoever holds what
   * @returns whether this call has set them
   */
  trySetPermits(permits: number, options?: { readonly ttlMs?: number }): Promise<boolean>;

  /**
   * Takes so many permits at once; waits until they are free. Of one process, first come first served.
   * @param permits 1 unless given
   * @throws {LockTimeoutError} they were not free for `waitTimeMs`; nothing is taken
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(permits?: number, options?: CountingAcquireOptions): Promise<void>;

  /** As `acquire`, but answers false when they were not free. Overtakes nobody of this process. */
  tryAcquire(permits?: number, options?: CountingAcquireOptions): Promise<boolean>;

  /**
   * Gives permits back. Nobody checks that they were taken.
   * @param permits 1 unless given
   * @throws {LockBackendError} Redis has not answered for two seconds. It goes on being told for five
   * minutes: do not call again
   */
  release(permits?: number): Promise<void>;

  /**
   * As `release`, for a semaphore that may have been deleted meanwhile.
   * @returns whether there was one
   */
  releaseIfExists(permits?: number): Promise<boolean>;

  /** Adds permits or, if negative, takes them away, also below zero. A TTL stays as it is. */
  addPermits(permits: number): Promise<void>;

  /** Takes all that are free, and answers how many. A number below zero is brought up to it. */
  drainPermits(): Promise<number>;

  /** How many are free; below zero if `addPermits` took more away than there were. */
  availablePermits(): Promise<number>;
}

const KIND = 'counting-semaphore';

const ACQUIRE_OPTIONS = [
  'waitTimeMs',
  'signal',
] as const satisfies readonly (keyof CountingAcquireOptions)[];
const LONGEST_TTL_MS = 365 * 24 * 60 * 60 * 1_000;

/** All counting semaphores of one connection. */
export class CountingSemaphores {
  readonly #requests: OnceOnly;
  readonly #contenders: WaitQueues;

  constructor(private readonly context: LockContext) {
    this.#requests = new OnceOnly(context, 'nestjs_semaphore_request', KIND);
    this.#contenders = context.queues(true);
  }

  /**
   * The semaphore of this name. Costs nothing: nothing is sent, nothing is kept.
   * @throws {LockKeyError} the name cannot be used
   */
  get(name: string): CountingSemaphore {
    this.context.keys.key(name);
    return {
      name,
      trySetPermits: (permits, options) => this.#trySetPermits(name, permits, options),
      acquire: (permits = 1, options) => this.#acquire(name, permits, options),
      tryAcquire: (permits = 1, options) => this.#tryAcquire(name, permits, options),
      release: async (permits = 1) => {
        await this.#give(name, permits, false);
      },
      releaseIfExists: (permits = 1) => this.#give(name, permits, true),
      addPermits: (permits) => this.#addPermits(name, permits),
      drainPermits: () => this.#drain(name),
      availablePermits: () => this.#available(name),
    };
  }

  async #trySetPermits(
    name: string,
    permits: number,
    options: { readonly ttlMs?: number } | undefined,
  ): Promise<boolean> {
    checkPermits(permits);
    const ttlMs = ttlOf(options);
    const send = (counter: string, marker: string) => {
      const args = { permits, ttlMs, markerTtlMs, channel: channelOf(counter) };
      return this.context.connection.run(TRY_SET_PERMITS, { counter, marker }, args);
    };
    return (await this.#requests.ask(name, send, false)) === 1;
  }

  async #acquire(
    name: string,
    permits: number,
    options: CountingAcquireOptions | undefined,
  ): Promise<void> {
    const call = this.#call(name, permits, options, this.context.settings.waitTimeMs);
    const refusal = await this.#take(call, permits);
    if (refusal !== undefined) throw timeoutError(call, refusal);
  }

  async #tryAcquire(
    name: string,
    permits: number,
    options: CountingAcquireOptions | undefined,
  ): Promise<boolean> {
    return (await this.#take(this.#call(name, permits, options, 0), permits)) === undefined;
  }

  #call(
    name: string,
    permits: number,
    options: CountingAcquireOptions | undefined,
    defaultWaitMs: number,
  ): Call {
    checkPermits(permits);
    const { context } = this;
    const { settings, clock } = context;
    const resolved = resolveAcquireOptions(options, settings, defaultWaitMs, ACQUIRE_OPTIONS);
    const { waitTimeMs, signal } = resolved;
    const once = waitTimeMs === 0;
    const deadline = new Deadline(clock, once ? ANSWER_MS : waitTimeMs, signal);
    return { context, name, kind: KIND, deadline, once };
  }

  /** Resolves with why there are no permits for the call, or with nothing once it has them. */
  #take(call: Call, permits: number): Promise<Refusal | undefined> {
    return traced(
      call,
      () => this.#settle(call, permits),
      (refusal) => refusal !== undefined,
    );
  }

  async #settle(call: Call, permits: number): Promise<Refusal | undefined> {
    const { context, name, deadline } = call;
    const counter = context.keys.key(name);
    const request = new CountingRequest(context, this.#requests, name, permits);
    try {
      const answer = await waitInTurn(call, this.#contenders, {
        key: counter,
        line: counter,
        channels: () => ({ wakeUp: channelOf(counter) }),
        leaseTimeMs: 0,
        leavesTrace: false,
        ask: () => request.ask(),
        giveUp: () => request.giveUp(),
      });
      // Aborted between the answer and here.
      deadline.refuseAborted();
      if (!('blockedBy' in answer)) {
        request.keep();
        return undefined;
      }
      request.leave();
      const { observer } = context.settings;
      if (!call.once) {
        tell(observer, { type: 'timed-out', name, kind: KIND, waitedMs: deadline.waitedMs });
      }
      return answer;
    } catch (error) {
      request.leave();
      throw deadline.isAbort(error) ? error : withLockName(error, name);
    }
  }

  async #give(name: string, permits: number, onlyIfExists: boolean): Promise<boolean> {
    checkPermits(permits);
    return this.#change(name, { more: permits, fewer: 0, onlyIfExists: Number(onlyIfExists) });
  }

  async #addPermits(name: string, permits: number): Promise<void> {
    checkCount('permits', permits, { min: -LARGEST_COUNT, max: LARGEST_COUNT });
    if (permits === 0) throw new LockArgumentError('permits must not be 0: that changes nothing');
    const [more, fewer] = permits > 0 ? [permits, 0] : [0, -permits];
    await this.#change(name, { more, fewer, onlyIfExists: 0 });
  }

  /** What was taken must come back, so it is not given up when Redis is away for a while. */
  async #change(
    name: string,
    change: { more: number; fewer: number; onlyIfExists: number },
  ): Promise<boolean> {
    const send = (counter: string, marker: string) => {
      const args = { ...change, markerTtlMs, channel: channelOf(counter) };
      return this.context.connection.run(CHANGE, { counter, marker }, args);
    };
    return (await this.#requests.ask(name, send, true)) === 1;
  }

  #drain(name: string): Promise<number> {
    const send = (counter: string, marker: string) =>
      this.context.connection.run(DRAIN, { counter, marker }, { markerTtlMs });
    return this.#requests.ask(name, send, false);
  }

  #available(name: string): Promise<number> {
    return askOnce(this.context, name, (counter) =>
      this.context.connection.run(AVAILABLE, { counter }, {}),
    );
  }
}

function checkPermits(permits: unknown): void {
  checkCount('permits', permits, { min: 1, max: LARGEST_COUNT });
}

function ttlOf(options: unknown): number {
  if (options === undefined) return 0;
  if (!isPlainObject(options) || unknownOption(options, ['ttlMs']) !== undefined) {
    throw new LockArgumentError('the only option of trySetPermits is { ttlMs }');
  }
  const { ttlMs } = options as { ttlMs?: unknown };
  if (ttlMs === undefined) return 0;
  checkCount('ttlMs', ttlMs, { min: 1, max: LONGEST_TTL_MS });
  return ttlMs as number;
}
