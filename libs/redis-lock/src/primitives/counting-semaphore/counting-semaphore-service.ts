import { askOnce } from '../../core/session.js';
import { timeoutError, type Acquisition } from '../../core/acquisition.js';
import { isTraced, traced } from '../../core/trace.js';
import { isAbort, refuseAborted } from '../../core/time/abort.js';
import type { WaitQueues } from '../../core/waiting/wait-queues.js';
import { LockArgumentError, LockBackendError, withLockName } from '../../core/api/errors.js';
import type { Asker, Channels } from '../../core/holding/asker.js';
import type { AcquireAnswer } from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { tell } from '../../core/api/observer.js';
import type { WaitOptions } from '../../core/api/lock.js';
import { checkCount, LARGEST_COUNT, WAIT_OPTIONS } from '../../core/api/options.js';
import { resolveAcquireOptions } from '../../core/api/resolve-options.js';
import { isPlainObject, unknownOption } from '../../core/api/shapes.js';
import type { Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, OnceOnly } from '../lua/once-only.js';
import type { Refusal } from '../../core/waiting/known.js';
import { GRANTED, Waiter } from '../../core/waiting/waiter.js';
import type { CountingSemaphore } from './counting-semaphore.js';
import { channelOf, REQUEST } from './footprint.js';
import * as scripts from './counting-semaphore.scripts.js';

const KIND = 'counting-semaphore';

const LONGEST_TTL_MS = 365 * 24 * 60 * 60 * 1_000;

/** All counting semaphores of one connection. */
export class CountingSemaphores {
  readonly #requests: OnceOnly;
  readonly #queues: WaitQueues;

  constructor(private readonly context: LockContext) {
    this.#requests = new OnceOnly(context, REQUEST, KIND);
    this.#queues = context.queues(KIND, true);
  }

  /**
   * The semaphore of this name. It sends and stores nothing.
   * @param capacity the number of permits that an acquisition sets if they are not set
   * @throws {LockKeyError} the name is not valid
   */
  get(name: string, capacity?: number): CountingSemaphore {
    this.context.keys.key(name);
    return {
      name,
      trySetPermits: (permits, options) => this.#trySetPermits(name, permits, options),
      acquire: (permits = 1, options) => this.#acquire(name, permits, options, capacity),
      tryAcquire: (permits = 1, options) => this.#tryAcquire(name, permits, options, capacity),
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
      const args = [permits, ttlMs, markerTtlMs, channelOf(counter)];
      return this.context.connection.run(scripts.TRY_SET_PERMITS, [counter, marker], args);
    };
    return (await this.#requests.ask(name, send, false)) === 1;
  }

  async #acquire(
    name: string,
    permits: number,
    options: WaitOptions | undefined,
    capacity: number | undefined,
  ): Promise<void> {
    const { waitTimeMs } = this.context.settings;
    const acquisition = this.#acquisition(name, permits, options, waitTimeMs);
    const refusal = await this.#take(acquisition, permits, capacity);
    if (refusal === undefined) return;
    throw timeoutError(acquisition, refusal);
  }

  async #tryAcquire(
    name: string,
    permits: number,
    options: WaitOptions | undefined,
    capacity: number | undefined,
  ): Promise<boolean> {
    const acquisition = this.#acquisition(name, permits, options, 0);
    return (await this.#take(acquisition, permits, capacity)) === undefined;
  }

  #acquisition(
    name: string,
    permits: number,
    given: WaitOptions | undefined,
    defaultWaitMs: number,
  ): Acquisition {
    checkPermits(permits);
    const { context: session } = this;
    const { settings, clock, keys } = session;
    const options = resolveAcquireOptions(given, settings, defaultWaitMs, WAIT_OPTIONS);
    refuseAborted(options.signal);
    return { session, name, kind: KIND, key: keys.key(name), options, startedAt: clock.now() };
  }

  /** Resolves with the reason for a refusal, or with nothing once the call holds its permits. */
  #take(
    acquisition: Acquisition,
    permits: number,
    capacity: number | undefined,
  ): Promise<Refusal | undefined> {
    const take = () => this.#settle(acquisition, permits, capacity);
    return isTraced() ? traced(acquisition, take, (refusal) => refusal !== undefined) : take();
  }

  async #settle(
    acquisition: Acquisition,
    permits: number,
    capacity: number | undefined,
  ): Promise<Refusal | undefined> {
    const { context } = this;
    const { name, options, startedAt } = acquisition;
    const { waitTimeMs, signal } = options;
    const request = new CountingRequest(context, this.#requests, name, permits, capacity);
    const waiter = new Waiter(context, request, acquisition, waitTimeMs, signal, startedAt);
    try {
      const outcome = await waiter.waitIn(this.#queues);
      // The signal may abort the call between the answer and this line.
      refuseAborted(signal);
      if (outcome === GRANTED) {
        request.granted();
        context.unleased.acquired(permits);
        return undefined;
      }
      request.leave();
      const { observer } = context.settings;
      const { waitedMs } = waiter;
      if (!waiter.once) tell(observer, { type: 'timed-out', name, kind: KIND, waitedMs });
      return outcome;
    } catch (error) {
      request.leave();
      throw isAbort(signal, error) ? error : withLockName(error, name);
    }
  }

  async #give(name: string, permits: number, onlyIfExists: boolean): Promise<boolean> {
    checkPermits(permits);
    try {
      const change = { more: permits, fewer: 0, onlyIfExists: Number(onlyIfExists) };
      return await this.#change(name, change);
    } finally {
      this.context.unleased.released(permits);
    }
  }

  async #addPermits(name: string, permits: number): Promise<void> {
    checkCount('permits', permits, { min: -LARGEST_COUNT, max: LARGEST_COUNT });
    if (permits === 0) throw new LockArgumentError('permits must not be 0: nothing would change');
    const [more, fewer] = permits > 0 ? [permits, 0] : [0, -permits];
    await this.#change(name, { more, fewer, onlyIfExists: 0 });
  }

  /** The request goes on while Redis is away: an acquired permit has no lease that returns it. */
  async #change(
    name: string,
    change: { more: number; fewer: number; onlyIfExists: number },
  ): Promise<boolean> {
    const send = (counter: string, marker: string) => {
      const { more, fewer, onlyIfExists } = change;
      const args = [more, fewer, onlyIfExists, markerTtlMs, channelOf(counter)];
      return this.context.connection.run(scripts.CHANGE, [counter, marker], args);
    };
    return (await this.#requests.ask(name, send, true)) === 1;
  }

  #drain(name: string): Promise<number> {
    const send = (counter: string, marker: string) =>
      this.context.connection.run(scripts.DRAIN, [counter, marker], [markerTtlMs]);
    return this.#requests.ask(name, send, false);
  }

  #available(name: string): Promise<number> {
    return askOnce(this.context, name, (counter) =>
      this.context.connection.run(scripts.AVAILABLE, [counter], []),
    );
  }
}

/**
 * One call for permits. They have no lease and never expire. So a call that ends without a
 * certain answer releases the permits that it may have acquired.
 */
class CountingRequest implements Asker {
  readonly key: string;
  readonly queueId: string;
  readonly leaseTimeMs = 0;
  readonly #marker: string;
  /** An attempt was executed, or may still be. */
  #mayArriveAgain = false;
  #isAsking = false;
  #hasLeft = false;
  #hasTaken = false;
  #isUndone = false;

  constructor(
    private readonly context: LockContext,
    private readonly requests: OnceOnly,
    private readonly name: string,
    private readonly permits: number,
    readonly capacity: number | undefined,
  ) {
    this.key = context.keys.key(name);
    this.queueId = this.key;
    this.#marker = requests.marker(this.key);
  }

  channels(): Channels {
    return { wakeUp: channelOf(this.key) };
  }

  async ask(): Promise<Reply<AcquireAnswer>> {
    const keys = [this.key, this.#marker];
    this.#isAsking = true;
    try {
      const reply = await this.context.connection.run(scripts.ACQUIRE, keys, [
        this.permits,
        markerTtlMs,
        channelOf(this.key),
        this.capacity ?? 0,
      ]);
      if (reply.resent) this.#mayArriveAgain = true;
      this.#hasTaken = reply.value.kind === 'granted';
      return reply;
    } catch (error) {
      if (error instanceof LockBackendError && error.outcome === 'unknown') {
        this.#mayArriveAgain = true;
      }
      throw error;
    } finally {
      this.#isAsking = false;
      if (this.#hasLeft) this.leave();
    }
  }

  /** The caller has the permits. */
  granted(): void {
    if (!this.#mayArriveAgain) this.requests.forget(this.key, this.#marker);
  }

  /** The caller has left without permits. */
  leave(): void {
    this.#hasLeft = true;
    if (!this.#isAsking && (this.#hasTaken || this.#mayArriveAgain)) void this.cancel();
  }

  async cancel(): Promise<void> {
    if (this.#isUndone) return;
    this.#isUndone = true;
    const keys = [this.key, this.#marker];
    const args = [markerTtlMs, channelOf(this.key)];
    await this.requests.undo(this.name, () =>
      this.context.connection.run(scripts.CANCEL, keys, args),
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
