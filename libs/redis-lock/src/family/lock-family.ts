import { LockConfigurationError } from '../core/api/errors.js';
import { tell, type LockObserver } from '../core/api/observer.js';
import { resolveSettings, type LockSettings } from '../core/api/settings.js';
import { ClientRecord, HERE } from '../core/client-record.js';
import type { LockContext } from '../core/lock-context.js';
import { answerWithin } from '../core/redis/retry.js';
import { LockMonitor } from '../primitives/monitor/lock-monitor.js';
import { DEFAULT_URL } from '../ioredis/choose-client.js';
import { LatchService } from '../primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { FencingGuard } from '../primitives/fencing-guard/fencing-guard.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import type { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';
import type { Backend, BackendConnection } from './backend.js';
import { EventChannel } from './event-channel.js';
import type { FamilyOptions } from './options.js';
import { noRedLocks, RedLocks } from './red-locks.js';

/** An application starts without Redis, too. */
const JUDGE_MS = 5_000;

/**
 * All locks on one Redis, until `close()`. While it is open, its connection keeps the process
 * alive.
 */
export class LockFamily implements AsyncDisposable {
  /** Locks with one holder at a time; `multi` acquires several names together. */
  readonly lock: LockService;
  /** The same, acquired in the order of the calls, across all processes. */
  readonly fair: FairLockService;
  /** Locks that many readers hold, or one writer. */
  readonly readWrite: ReadWriteLockService;
  /**
   * Permits for a limited number of holders; `counting` is a plain counter, compatible with Java.
   */
  readonly semaphore: SemaphoreService;
  /** Latches: all waiters continue once a latch is counted down to 0. */
  readonly latch: LatchService;
  /**
   * Locks on a majority of independent servers. Every call rejects with `LockConfigurationError` if
   * the option `redLock` is missing, or if one of its nodes is found unusable.
   */
  readonly red: RedLockService;
  /** Writes to this Redis that reject after a later holder of the lock has written. */
  readonly fencing: FencingGuard;
  /** The locks that this process holds and waits for, and whether Redis answers. */
  readonly monitor: LockMonitor;
  /**
   * All locks of the services share it.
   * @internal
   */
  readonly context: LockContext;
  readonly #connection: BackendConnection;
  readonly #redLocks: RedLocks | undefined;
  readonly #records: readonly ClientRecord[];
  #closed: Promise<void> | undefined;

  /**
   * Opens nothing yet.
   * @internal
   * @param heardBy adds an observer before that of the options
   * @throws {LockConfigurationError} an option cannot be used
   */
  constructor(
    options: FamilyOptions,
    backend: Backend,
    heardBy: (next: LockObserver) => LockObserver = (next) => next,
  ) {
    const { name, observer: own, publish, onEviction } = resolveSettings(options.settings);
    const observer = heardBy(new EventChannel(name, own));
    const settings = { ...options.settings, observer };
    const target = 'connection' in options ? options.connection : DEFAULT_URL;
    this.#connection = backend.connect(target, observer, publish, onEviction);
    this.context = backend.context(this.#connection, settings);
    this.#redLocks = this.#redLocksOf(options, settings, backend);
    const records = this.#redLocks?.records() ?? [];
    this.#records = [new ClientRecord(this.context, this.#connection), ...records];
    this.lock = new LockService(this.context);
    this.fair = new FairLockService(this.context);
    this.readWrite = new ReadWriteLockService(this.context);
    this.semaphore = new SemaphoreService(this.context);
    this.latch = new LatchService(this.context);
    this.red = this.#redLocks?.service ?? noRedLocks();
    this.fencing = new FencingGuard(this.context);
    this.monitor = new LockMonitor(this.context, this.#contexts.slice(1));
  }

  /**
   * Connects to Redis, in the background.
   * @internal
   */
  open(): void {
    this.#connection.open();
    for (const record of this.#records) record.begin();
    const clients = this.#contexts.map(({ client }) => client);
    tell(this.context.settings.observer, { type: 'opened', clients, ...HERE });
  }

  /**
   * With `onEviction: 'refuse'`, resolves once the server has passed, or does not answer.
   * @internal
   * @throws {LockConfigurationError} it may evict locks
   */
  async judge(): Promise<void> {
    const { context } = this;
    if (context.settings.onEviction !== 'refuse') return;
    const ask = async () => {
      await this.#connection.prepare?.();
      return { value: undefined, sentAt: 0, resent: false };
    };
    await answerWithin(JUDGE_MS, context, undefined, ask).catch((error: unknown) => {
      if (error instanceof LockConfigurationError) throw error;
    });
  }

  /**
   * Connects to the servers of the red lock.
   * @internal
   * @throws {LockConfigurationError} a node is no master of its own, or two are one server
   */
  async openRedLock(): Promise<void> {
    await this.#redLocks?.open();
  }

  /**
   * Refuses new calls, and gives holders `shutdownTimeoutMs` to finish.
   * @internal
   */
  async drain(): Promise<void> {
    await Promise.all(this.#contexts.map((context) => context.drain()));
  }

  /**
   * Releases the locks that are still held, without waiting for their holders.
   * @internal
   */
  async end(): Promise<void> {
    await Promise.all(this.#records.map((record) => record.end()));
    await Promise.all(this.#contexts.map((context) => context.close()));
  }

  /**
   * Rejects waiters and new acquisitions with `LockShutdownError`, and gives holders
   * `shutdownTimeoutMs` to finish. Then releases the other locks, and closes the connections that
   * this library opened. A second call waits for the first.
   */
  async close(): Promise<void> {
    this.#closed ??= this.drain().then(() => this.end());
    await this.#closed;
  }

  /** As `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #redLocksOf(
    { redLock }: FamilyOptions,
    settings: Partial<LockSettings> & { readonly observer: LockObserver },
    backend: Backend,
  ): RedLocks | undefined {
    try {
      return redLock && new RedLocks(redLock, settings, backend);
    } catch (error) {
      // It has listeners on a client of the caller, which lives on.
      void this.#connection.close();
      throw error;
    }
  }

  get #contexts(): LockContext[] {
    return this.#redLocks === undefined ? [this.context] : [this.context, this.#redLocks.context];
  }
}
