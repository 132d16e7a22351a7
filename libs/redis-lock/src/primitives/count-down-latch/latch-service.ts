import { askOnce } from '../../core/acquirer.js';
import type { WaitQueues } from '../../core/waiting/wait-queues.js';
import { Deadline, OVER } from '../../core/time/deadline.js';
import { withLockName } from '../../core/api/errors.js';
import type { AcquireAnswer } from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { checkCount, LARGEST_COUNT, resolveAcquireOptions } from '../../core/api/options.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, OnceOnly } from '../../core/once-only.js';
import { waitInTurn, type Turn } from '../../core/waiting/waiter.js';
import { COUNT_DOWN, DELETE, GET_COUNT, TRY_SET_COUNT } from './latch.scripts.js';

/** How to wait for a latch. */
export interface WaitOptions {
  /**
   * How long to wait, in milliseconds; 0 only looks, `Infinity` waits for ever.
   * @default `waitTimeMs` of the module
   */
  readonly waitTimeMs?: number | undefined;
  /** Ends the waiting: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens once it has been counted down to zero. A latch that was never set, or was deleted, cannot be
 * told from one that has opened: it is open. Set it before anybody waits.
 */
export interface CountDownLatch {
  readonly name: string;

  /**
   * Sets the count, from 1 to 2,147,483,647, if there is none; a latch that has opened can be set again.
   * @returns whether this call has set it
   * @throws {LockBackendError} Redis could not be asked; call again unless the outcome is `unknown`
   * @throws {LockStateError} the key holds something else
   */
  trySetCount(count: number): Promise<boolean>;

  /**
   * Counts down by one; the last one opens the latch. Of a latch that is open, nothing happens.
   * @returns what is left to be counted
   * @throws {LockBackendError} Redis has not answered for two seconds. It goes on being told for five
   * minutes: do not call again
   * @throws {LockStateError} the key holds something else
   */
  countDown(): Promise<number>;

  /** What is left to be counted; 0 is an open latch. */
  getCount(): Promise<number>;

  /**
   * Waits until the latch is open: Redis has said so during this call. Wakes up by a message, and
   * looks by itself every `pollIntervalMs`.
   * @returns false when time is over and it was still closed
   * @throws {LockBackendError} Redis could not be asked
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  wait(options?: WaitOptions): Promise<boolean>;

  /**
   * Takes the latch away; those who wait go on as if it had opened.
   * @returns whether there was one
   */
  delete(): Promise<boolean>;
}

const WAIT_OPTIONS = ['waitTimeMs', 'signal'] as const satisfies readonly (keyof WaitOptions)[];

/** Count-down latches on Redis, shared with Java services that use Redisson's `RCountDownLatch`. */
export class LatchService {
  readonly #requests: OnceOnly;
  readonly #contenders: WaitQueues;

  constructor(private readonly context: LockContext) {
    this.#requests = new OnceOnly(context, 'nestjs_latch_request', 'latch');
    this.#contenders = context.queues(true);
  }

  /**
   * The latch of this name. Costs nothing: nothing is sent, nothing is kept.
   * @throws {LockKeyError} the name cannot be used
   */
  get(name: string): CountDownLatch {
    this.context.keys.key(name);
    return {
      name,
      trySetCount: (count) => this.#trySetCount(name, count),
      countDown: () => this.#countDown(name),
      getCount: () => this.#getCount(name),
      wait: (options) => this.#wait(name, options),
      delete: () => this.#delete(name),
    };
  }

  async #trySetCount(name: string, count: number): Promise<boolean> {
    checkCount('count', count, { min: 1, max: LARGEST_COUNT });
    const { connection } = this.context;
    const send = (latch: string, marker: string) => {
      const args = { count, markerTtlMs, channel: channelOf(connection, latch) };
      return connection.run(TRY_SET_COUNT, { latch, marker }, args);
    };
    return (await this.#requests.ask(name, send, false)) === 1;
  }

  #countDown(name: string): Promise<number> {
    const { connection } = this.context;
    const send = (latch: string, marker: string) => {
      const args = { markerTtlMs, channel: channelOf(connection, latch) };
      return connection.run(COUNT_DOWN, { latch, marker }, args);
    };
    return this.#requests.ask(name, send, true);
  }

  #getCount(name: string): Promise<number> {
    return askOnce(this.context, name, (latch) =>
      this.context.connection.run(GET_COUNT, { latch }, {}),
    );
  }

  async #delete(name: string): Promise<boolean> {
    const { connection } = this.context;
    const send = (latch: string, marker: string) => {
      const args = { markerTtlMs, channel: channelOf(connection, latch) };
      return connection.run(DELETE, { latch, marker }, args);
    };
    return (await this.#requests.ask(name, send, false)) === 1;
  }

  async #wait(name: string, options: WaitOptions | undefined): Promise<boolean> {
    const { context } = this;
    const { settings, clock, keys } = context;
    const { waitTimeMs, signal } = resolveAcquireOptions(
      options,
      settings,
      settings.waitTimeMs,
      WAIT_OPTIONS,
    );
    const deadline = new Deadline(clock, waitTimeMs === 0 ? Infinity : waitTimeMs, signal);
    if (waitTimeMs === 0) {
      // What the others in line were told last may be old.
      const count = await deadline.race(this.#getCount(name));
      return count !== OVER && count === 0;
    }
    const call = { context, name, kind: 'latch', deadline, once: false } as const;
    try {
      const answer = await waitInTurn(call, this.#contenders, this.#turn(keys.key(name)));
      return !('blockedBy' in answer);
    } catch (error) {
      throw deadline.isAbort(error) ? error : withLockName(error, name);
    }
  }

  /** All who wait for a latch stand in one line, of which the first asks for all of them. */
  #turn(latch: string): Turn {
    const { connection } = this.context;
    return {
      key: latch,
      line: latch,
      channels: () => ({ wakeUp: channelOf(connection, latch) }),
      leaseTimeMs: 0,
      leavesTrace: false,
      ask: async (): Promise<Reply<AcquireAnswer>> => {
        const reply = await connection.run(GET_COUNT, { latch }, {});
        return { ...reply, value: reply.value === 0 ? OPEN : CLOSED };
      },
      giveUp: () => Promise.resolve(),
    };
  }
}

const OPEN: AcquireAnswer = { kind: 'granted', fencingToken: undefined, isForAll: true };
const CLOSED: AcquireAnswer = { kind: 'busy', remainingMs: Infinity };

/**
 * Redisson adds braces also to a name with a hash tag of its own, which in Cluster makes another slot:
 * its own scripts are refused there. Only there is the channel ours alone.
 */
function channelOf(connection: RedisConnection, latch: string): string {
  const redissons = `redisson_countdownlatch__channel__{${latch}}`;
  const isTogether = connection.place(redissons).slot === connection.place(latch).slot;
  return isTogether ? redissons : `redisson_countdownlatch__channel__${latch}`;
}
