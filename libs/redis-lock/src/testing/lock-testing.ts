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
import type { Hold } from '../core/holding/hold.js';
import type { Lease } from '../core/api/lease.js';
import type { LockContext } from '../core/lock-context.js';
import { DEFAULT_NAME } from '../core/api/options.js';
import { QuorumConnection } from '../primitives/red-lock/quorum-connection.js';
import type { LockOperation } from './answers.js';
import type { ElsewhereOptions, HeldKind } from './elsewhere.js';
import { InProcessBackend } from './in-process-backend.js';
import { ManualClock } from './manual-clock.js';

const HOLD_OPTIONS: readonly string[] = ['kind', 'leaseTimeMs', 'permits', 'connection'];
const KINDS: readonly HeldKind[] = ['lock', 'fair', 'read', 'write', 'red', 'semaphore'];
const OPERATIONS: readonly LockOperation[] = ['acquire', 'release', 'renew'];

/** What the testing module takes beside the options of `RedisLockModule`. */
export interface LockTestingOptions {
  /**
   * `manual`: time stands still but for `clock.advance(ms)`. `system`: it takes as long as it takes.
   * @default 'manual'
   */
  readonly clock?: 'manual' | 'system' | undefined;
}

/** Something that is held at this moment. */
export interface HeldLock {
  readonly name: string;
  readonly kind: HeldKind;
  /** The name of the connection; `default` unless it was given one. */
  readonly connection: string;
  /** The application under test, or whoever `holdElsewhere` stands for. */
  readonly by: 'application' | 'elsewhere';
  /** How many leases the holder has: more than one in nested calls. */
  readonly holdCount: number;
  /** What is left of the lease. */
  readonly remainingMs: number;
}

/** What another process, which a test plays, holds. */
export interface HoldElsewhereOptions extends ElsewhereOptions {
  /**
   * The `name` of the connection, where the application has several.
   * @default 'default'
   */
  readonly connection?: string | undefined;
}

/** What a test does to the locks of one application, and what it asks of them. */
export class LockTesting {
  /** @internal */
  readonly backend: InProcessBackend;
  /** With nothing left open. */
  readonly options: Required<LockTestingOptions>;

  /** @throws {LockConfigurationError} the clock is none of the two */
  constructor({ clock = 'manual' }: LockTestingOptions = {}) {
    if (!['manual', 'system'].includes(clock)) {
      throw new LockConfigurationError(
        `clock must be 'manual' or 'system', not ${describeValue(clock)}`,
      );
    }
    this.options = { clock };
    this.backend = new InProcessBackend(clock === 'manual' ? new ManualClock() : systemClock);
  }

  /**
   * By which waiting times, leases and renewals go.
   * @throws {LockConfigurationError} it is the system's
   */
  get clock(): ManualClock {
    const { clock } = this.backend;
    if (clock instanceof ManualClock) return clock;
    throw new LockConfigurationError(
      "Nobody can advance the clock of the system: leave clock: 'system' out of the options",
    );
  }

  /** What is held, by the application and elsewhere, in the order of the names; each owner once. */
  held(): HeldLock[] {
    const held = [
      ...this.backend.contexts.flatMap((context) => heldIn(context, 'application')),
      ...this.backend.others.flatMap((context) => heldIn(context, 'elsewhere')),
    ];
    return held.sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
  }

  /**
   * Returns if the application holds it at this moment.
   * @param kind any unless given
   * @throws {AssertionError} it does not; the message says what is held
   */
  assertHeld(name: string, kind?: HeldKind): void {
    const held = this.held();
    const isIt = (one: HeldLock) => one.name === name && (kind ?? one.kind) === one.kind;
    if (held.some((one) => one.by === 'application' && isIt(one))) return;
    const what = `${kind ?? 'lock'} ${quoteName(name)}`;
    throw new AssertionError({
      message: `The application does not hold the ${what}; ${textOf(held)}`,
      actual: held,
      expected: [{ name, kind, by: 'application' }],
      operator: 'assertHeld',
    });
  }

  /**
   * Somebody else holds it from now on, until the lease that this resolves with is released: whoever
   * asks for it in the application finds it busy.
   * @throws {AssertionError} it is held already, or there are not so many permits
   * @throws {LockArgumentError} an option is unknown, or makes no sense
   */
  async holdElsewhere(name: string, options: HoldElsewhereOptions = {}): Promise<Lease> {
    checkHoldOptions(options);
    const context = this.#contextOf(options);
    try {
      return await this.backend.elsewhereOf(context).hold(name, options);
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      const held = this.held();
      throw new AssertionError({
        message: `Nobody else can hold ${quoteName(name)} now; ${textOf(held)}`,
        actual: held,
        operator: 'holdElsewhere',
      });
    }
  }

  /**
   * Ends the lease of everybody who holds it, as if nobody had renewed it in time: the key is gone, and
   * each holder knows at once, by its signal and by `LeaseLostError` with the reason `expired`.
   * @throws {AssertionError} nobody holds it
   */
  expireLease(name: string): void {
    const ended = [...this.backend.contexts, ...this.backend.others].flatMap((context) =>
      liveIn(context).flatMap((hold) => (hold.name === name ? [{ context, hold }] : [])),
    );
    if (ended.length === 0) {
      const held = this.held();
      throw new AssertionError({
        message: `Nobody holds ${quoteName(name)}; ${textOf(held)}`,
        actual: held,
        operator: 'expireLease',
      });
    }
    this.backend.withoutFailures(() => {
      for (const { context, hold } of ended) context.holds.lose(hold, 'expired');
    });
  }

  /**
   * The next such operation of the application is not done, and rejects with the error: an attempt to
   * get something, a release or count-down, or a renewal. A red lock has several servers, and goes on.
   * @param error a `LockBackendError` that it is useless to retry, unless given
   * @throws {LockArgumentError} it is no such operation
   */
  failNext(operation: LockOperation, error: Error = failureOf(operation)): void {
    if (!OPERATIONS.includes(operation)) {
      throw new LockArgumentError(
        `failNext needs one of ${OPERATIONS.join(', ')}, not ${describeValue(operation)}`,
      );
    }
    this.backend.failNext(operation, error);
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
      `The application has no ${what} of the name ${quoteName(connection)}, or has not started yet`,
    );
  }
}

/** What `acquire` does not look at. */
function checkHoldOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) {
    throw new LockArgumentError(`options must be an object, not ${describeValue(options)}`);
  }
  const unknown = Object.keys(options).find((option) => !HOLD_OPTIONS.includes(option));
  if (unknown !== undefined) {
    throw new LockArgumentError(
      `unknown option ${describeValue(unknown)}; the options are ${HOLD_OPTIONS.join(', ')}`,
    );
  }
  const { kind = 'lock', permits } = options as HoldElsewhereOptions;
  if (!KINDS.includes(kind)) {
    throw new LockArgumentError(
      `kind must be one of ${KINDS.join(', ')}, not ${describeValue(kind)}`,
    );
  }
  if (permits !== undefined && kind !== 'semaphore') {
    throw new LockArgumentError(`a ${kind} has no permits; give the kind 'semaphore'`);
  }
}

function liveIn({ holds }: LockContext): Hold[] {
  return holds.all.filter(({ remainingMs }) => remainingMs > 0);
}

function heldIn(context: LockContext, by: HeldLock['by']): HeldLock[] {
  return liveIn(context).map(({ name, protocol, leases, remainingMs }) => {
    const kind = protocol.kind as HeldKind;
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
  const message = `This ${operation} was made to fail by a test`;
  return new LockBackendError(message, { retryable: false, outcome: 'none' });
}
