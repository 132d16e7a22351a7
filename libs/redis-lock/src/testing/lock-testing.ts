import { AssertionError } from 'node:assert';

import { systemClock } from '../core/time/clock.js';
import {
  describeValue,
  LockArgumentError,
  LockBackendError,
  LockConfigurationError,
  LockTimeoutError,
  quoteName,
} from '../core/api/errors.js';
import { isPlainObject, unknownOption } from '../core/api/shapes.js';
import type { Hold } from '../core/holding/hold.js';
import type { Lease } from '../core/api/lease.js';
import type { LockContext } from '../core/lock-context.js';
import { DEFAULT_NAME } from '../core/api/settings.js';
import type { LockFamily } from '../family/lock-family.js';
import { openFamily, type OpenLocksOptions } from '../family/open-locks.js';
import { QuorumConnection } from '../primitives/red-lock/quorum-connection.js';
import {
  InProcessBackend,
  type ElsewhereOptions,
  type HoldKind,
  type LockOperation,
} from './in-process-backend.js';
import { ManualClock } from './manual-clock.js';

const HOLD_OPTIONS: readonly string[] = ['kind', 'leaseTimeMs', 'permits', 'connection'];
const KINDS: readonly HoldKind[] = ['lock', 'fair', 'read', 'write', 'red', 'semaphore'];
const OPERATIONS: readonly LockOperation[] = ['acquire', 'release', 'renew'];

/** The options of the testing module beside those of `RedisLockModule`. */
export interface LockTestingOptions {
  /**
   * `manual`: only `clock.advance(ms)` moves the time. `system`: time passes by itself.
   * @default 'manual'
   */
  readonly clock?: 'manual' | 'system' | undefined;
  /**
   * Another application, which stands for another process: both share their servers and the clock.
   * Connections of the same name lead to the same server.
   */
  readonly beside?: LockTesting | undefined;
}

/** A lock that is held at this moment. */
export interface HeldLock {
  readonly name: string;
  readonly kind: HoldKind;
  /** The name of the connection, or `default`. */
  readonly connection: string;
  /** The application under test, or the holder of `holdElsewhere`. */
  readonly by: 'application' | 'elsewhere';
  /** How many leases the holder has: several in nested calls. */
  readonly holdCount: number;
  /** The rest of the lease, in milliseconds. */
  readonly remainingMs: number;
}

/** A hold of another process, which a test simulates. */
export interface HoldElsewhereOptions extends ElsewhereOptions {
  /**
   * The `name` of the connection, if the application has several.
   * @default 'default'
   */
  readonly connection?: string | undefined;
}

/** Controls the locks of one application, and shows their state. */
export class LockTesting {
  /** @internal */
  readonly backend: InProcessBackend;
  /** All options, with their defaults. */
  readonly options: Required<Pick<LockTestingOptions, 'clock'>>;

  /** @throws {LockConfigurationError} an option is unknown, or its value cannot be used */
  constructor(options: LockTestingOptions = {}) {
    checkTestingOptions(options);
    const { beside, clock = beside?.options.clock ?? 'manual' } = options;
    if (!['manual', 'system'].includes(clock)) {
      throw new LockConfigurationError(
        `clock must be 'manual' or 'system', not ${describeValue(clock)}`,
      );
    }
    if (beside !== undefined && beside.options.clock !== clock) {
      throw new LockConfigurationError(
        'Applications beside each other share one clock: omit clock',
      );
    }
    this.options = { clock };
    const own = clock === 'manual' ? new ManualClock() : systemClock;
    this.backend = new InProcessBackend(beside?.backend.clock ?? own, beside?.backend);
  }

  /**
   * Opens all locks of this application without Nest. The option `connection` is ignored.
   * @throws {LockConfigurationError} an option cannot be used
   */
  openLocks(options: OpenLocksOptions = {}): LockFamily {
    const family = openFamily(options, this.backend);
    const end = family.close.bind(family);
    const close = () => {
      const closed = end().then(() =>
        this.backend.isOpen ? undefined : this.backend.onApplicationShutdown(),
      );
      this.backend.runUntil(closed);
      return closed;
    };
    return Object.assign(family, { close });
  }

  /**
   * Ends this application as a crash of its process would. It receives nothing from Redis any more,
   * and Redis nothing from it. Its leases expire by themselves. It opens no locks again.
   */
  crash(): void {
    this.backend.crash();
  }

  /**
   * The clock of waiting times, leases and renewals.
   * @throws {LockConfigurationError} the clock is the system's
   */
  get clock(): ManualClock {
    const { clock } = this.backend;
    if (clock instanceof ManualClock) return clock;
    throw new LockConfigurationError(
      "The clock of the system cannot be advanced: remove clock: 'system' from the options",
    );
  }

  /** All holds, of the application and elsewhere, in the order of the names; each owner once. */
  held(): HeldLock[] {
    const held = [
      ...this.backend.contexts.flatMap((context) => heldIn(context, 'application')),
      ...this.backend.others.flatMap((context) => heldIn(context, 'elsewhere')),
    ];
    return held.sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
  }

  /**
   * Returns if the application holds the lock at this moment, and throws otherwise.
   * @param kind any kind if omitted
   * @throws {AssertionError} it does not hold the lock; the message lists the holds
   */
  assertHeld(name: string, kind?: HoldKind): void {
    const held = this.held();
    const isIt = (one: HeldLock) => one.name === name && (kind ?? one.kind) === one.kind;
    if (held.some((one) => one.by === 'application' && isIt(one))) return;
    const what = `${kind ?? 'lock'} ${quoteName(name)}`;
    const expected = [{ name, kind, by: 'application' }];
    throw this.#failure(`The application does not hold the ${what}`, 'assertHeld', expected);
  }

  /**
   * Makes another process hold the lock until you release the returned lease. Meanwhile a caller of
   * the application finds the lock busy.
   * @throws {AssertionError} the lock is held already, or has too few permits
   * @throws {LockArgumentError} an option is unknown, or its value cannot be used
   */
  async holdElsewhere(name: string, options: HoldElsewhereOptions = {}): Promise<Lease> {
    checkHoldOptions(options);
    const context = this.#contextOf(options);
    try {
      return await this.backend.elsewhereOf(context).hold(name, options);
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      throw this.#failure(`No other process can hold ${quoteName(name)} now`, 'holdElsewhere');
    }
  }

  /**
   * Ends the leases of all holders, as after late renewals: the key is gone. Each holder notices at
   * once: its signal aborts, with a `LeaseLostError` of the reason `expired`.
   * @throws {AssertionError} the lock is not held
   */
  expireLease(name: string): void {
    const ended = [...this.backend.contexts, ...this.backend.others].flatMap((context) =>
      liveIn(context).flatMap((hold) => (hold.name === name ? [{ context, hold }] : [])),
    );
    if (ended.length === 0) throw this.#failure(`${quoteName(name)} is not held`, 'expireLease');
    this.backend.byTest(() => {
      for (const { context, hold } of ended) {
        context.holds.lose(hold, 'expired');
        // The first release waits for scripts of the owner, which a crashed one never ends.
        hold.protocol.release(hold, 0).catch(() => undefined);
      }
    });
  }

  /**
   * Lets the next operation of this kind fail in the application: it is not done, and rejects with
   * the error. The kinds are an acquisition, a release or count-down, and a renewal. A red lock has
   * several servers, and goes on.
   * @param error by default a `LockBackendError` that is not retryable
   * @throws {LockArgumentError} the operation is unknown
   */
  failNext(operation: LockOperation, error: Error = failureOf(operation)): void {
    if (!OPERATIONS.includes(operation)) {
      throw new LockArgumentError(
        `failNext needs one of ${OPERATIONS.join(', ')}, not ${describeValue(operation)}`,
      );
    }
    this.backend.failNext(operation, error);
  }

  #failure(what: string, operator: string, expected?: unknown): AssertionError {
    const actual = this.held();
    const details = { message: `${what}; ${textOf(actual)}`, actual, operator };
    return new AssertionError(expected === undefined ? details : { ...details, expected });
  }

  #contextOf({ kind, connection = DEFAULT_NAME }: HoldElsewhereOptions): LockContext {
    const context = this.backend.contexts.find(
      (one) =>
        one.settings.name === connection &&
        one.connection instanceof QuorumConnection === (kind === 'red'),
    );
    if (context !== undefined) return context;
    const what = kind === 'red' ? 'red locks' : 'connection';
    throw new LockConfigurationError(
      `The application has no ${what} with the name ${quoteName(connection)}, or has not started yet`,
    );
  }
}

function checkTestingOptions(options: unknown): void {
  let problem = isPlainObject(options)
    ? unknownOption(options, ['clock', 'beside'])
    : `the options must be a plain object, not ${describeValue(options)}`;
  const { beside } = (problem === undefined ? options : {}) as { beside?: unknown };
  if (beside !== undefined && !(beside instanceof LockTesting)) {
    problem = `beside must be a LockTesting, such as app.get(LockTesting), not ${describeValue(beside)}`;
  }
  if (problem !== undefined) throw new LockConfigurationError(problem);
}

/** Checks the options that `acquire` does not check. */
function checkHoldOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) {
    throw new LockArgumentError(`options must be an object, not ${describeValue(options)}`);
  }
  const problem = unknownOption(options, HOLD_OPTIONS);
  if (problem !== undefined) throw new LockArgumentError(problem);
  const { kind = 'lock', permits } = options as HoldElsewhereOptions;
  if (!KINDS.includes(kind)) {
    throw new LockArgumentError(
      `kind must be one of ${KINDS.join(', ')}, not ${describeValue(kind)}`,
    );
  }
  if (permits !== undefined && kind !== 'semaphore') {
    throw new LockArgumentError(`a ${kind} has no permits; use the kind 'semaphore'`);
  }
}

function liveIn({ holds }: LockContext): Hold[] {
  return holds.all.filter(({ remainingMs }) => remainingMs > 0);
}

function heldIn(context: LockContext, by: HeldLock['by']): HeldLock[] {
  return liveIn(context).map(({ name, protocol, leases, remainingMs }) => {
    const kind = protocol.kind as HoldKind;
    const connection = context.settings.name;
    return { name, kind, connection, by, holdCount: leases.length, remainingMs };
  });
}

function textOf(held: readonly HeldLock[]): string {
  if (held.length === 0) return 'nothing is held';
  const texts = held.map(({ name, kind, by }) => {
    const where = by === 'elsewhere' ? by : 'by the application';
    return `${kind} ${quoteName(name)} ${where}`;
  });
  return `held: ${texts.join(', ')}`;
}

function failureOf(operation: LockOperation): LockBackendError {
  const message = `A test made this ${operation} fail`;
  return new LockBackendError(message, { retryable: false, outcome: 'none' });
}
