import { askOnce } from '../../core/session.js';
import type { Asker } from '../../core/holding/asker.js';
import type { WaitQueues } from '../../core/waiting/wait-queues.js';
import { isAbort } from '../../core/time/abort.js';
import { Deadline, OVER } from '../../core/time/deadline.js';
import { withLockName } from '../../core/api/errors.js';
import type { AcquireAnswer } from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import type { WaitOptions } from '../../core/api/lock.js';
import { checkCount, LARGEST_COUNT, WAIT_OPTIONS } from '../../core/api/options.js';
import { resolveAcquireOptions } from '../../core/api/resolve-options.js';
import type { Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, OnceOnly } from '../lua/once-only.js';
import { GRANTED, Waiter } from '../../core/waiting/waiter.js';
import { channelOf, REQUEST } from './footprint.js';
import type { CountDownLatch } from './latch.js';
import * as scripts from './latch.scripts.js';

/** Count-down latches on Redis, shared with Java services that use Redisson's `RCountDownLatch`. */
export class LatchService {
  readonly #requests: OnceOnly;
  readonly #queues: WaitQueues;

  /** @internal */
  constructor(private readonly context: LockContext) {
    this.#requests = new OnceOnly(context, REQUEST, 'latch');
    this.#queues = context.queues('latch', true);
  }

  /**
   * The latch of this name. It sends and stores nothing.
   * @throws {LockKeyError} the name is not valid
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
      const args = [count, markerTtlMs, channelOf(connection, latch)];
      return connection.run(scripts.TRY_SET_COUNT, [latch, marker], args);
    };
    return (await this.#requests.ask(name, send, false)) === 1;
  }

  #countDown(name: string): Promise<number> {
    const { connection } = this.context;
    const send = (latch: string, marker: string) => {
      const args = [markerTtlMs, channelOf(connection, latch)];
      return connection.run(scripts.COUNT_DOWN, [latch, marker], args);
    };
    return this.#requests.ask(name, send, true);
  }

  #getCount(name: string): Promise<number> {
    return askOnce(this.context, name, (latch) =>
      this.context.connection.run(scripts.GET_COUNT, [latch], []),
    );
  }

  async #delete(name: string): Promise<boolean> {
    const { connection } = this.context;
    const send = (latch: string, marker: string) => {
      const args = [markerTtlMs, channelOf(connection, latch)];
      return connection.run(scripts.DELETE, [latch, marker], args);
    };
    return (await this.#requests.ask(name, send, false)) === 1;
  }

  async #wait(name: string, options: WaitOptions | undefined): Promise<boolean> {
    const { context } = this;
    const { settings, clock, times, keys } = context;
    const { waitTimeMs, signal } = resolveAcquireOptions(
      options,
      settings,
      settings.waitTimeMs,
      WAIT_OPTIONS,
    );
    const startedAt = clock.now();
    if (waitTimeMs === 0) {
      // The last answer to other waiters may be old.
      const deadline = new Deadline(times, Infinity, signal);
      const count = await deadline.race(this.#getCount(name));
      return count !== OVER && count === 0;
    }
    const asker = this.#asker(keys.key(name));
    const subject = { name, kind: 'latch' } as const;
    const waiter = new Waiter(context, asker, subject, waitTimeMs, signal, startedAt);
    try {
      return (await waiter.waitIn(this.#queues)) === GRANTED;
    } catch (error) {
      throw isAbort(signal, error) ? error : withLockName(error, name);
    }
  }

  /** All waiters of a latch share one queue. Its first waiter sends the attempts for all. */
  #asker(latch: string): Asker {
    const { connection } = this.context;
    return {
      key: latch,
      queueId: latch,
      leaseTimeMs: 0,
      channels: () => ({ wakeUp: channelOf(connection, latch) }),
      ask: async (): Promise<Reply<AcquireAnswer>> => {
        const reply = await connection.run(scripts.GET_COUNT, [latch], []);
        return { ...reply, value: reply.value === 0 ? OPEN : CLOSED };
      },
      cancel: () => Promise.resolve(),
    };
  }
}

const OPEN: AcquireAnswer = { kind: 'granted', fencingToken: undefined, isForAll: true };
const CLOSED: AcquireAnswer = { kind: 'busy', remainingMs: Infinity };
