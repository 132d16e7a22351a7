import { Deadline, OVER } from '../../core/time/deadline.js';
import {
  describeValue,
  LockArgumentError,
  LockBackendError,
  LockStateError,
  quoteName,
} from '../../core/api/errors.js';
import type { ForceReleaseOptions, Lock } from '../../core/api/lock.js';
import { processesOf } from '../../core/client-record.js';
import { checkForceOptions, FORCE_OPTIONS, forceRelease } from '../../core/force-release.js';
import { helperKey } from '../../core/redis/key-names.js';
import type { LockContext } from '../../core/lock-context.js';
import { checkCount } from '../../core/api/options.js';
import { ANSWER_MS } from '../../core/redis/connection.js';
import { defineScript } from '../../core/redis/script.js';
import { askOnce } from '../../core/session.js';
import { FairLockService } from '../fair-lock/fair-lock-service.js';
import { LockService } from '../lock/lock-service.js';
import { ReadWriteLockService } from '../read-write-lock/read-write-lock-service.js';
import { PermitProtocol } from '../semaphore/permit-protocol.js';
import { INSPECT_NAME, keysOf } from './inspect.scripts.js';
import {
  HELD_KINDS,
  inspectionOf,
  presentHolders,
  type HeldKind,
  type LockInspection,
} from './inspection.js';

/** The locks of one process on one connection, at one moment. */
export interface LockStatus {
  /** The name of the connection. */
  readonly connection: string;
  /**
   * The owners of this process, and its permits, begin with such a text, as `d60b2ca2-d0a6`. Red
   * locks have their own.
   */
  readonly clients: readonly string[];
  /** Whether commands can be sent, as far as the client knows. To be sure, call `ping`. */
  readonly isUp: boolean;
  /** Whether wake-up messages arrive, or no waiter needs any. Otherwise waiters poll. */
  readonly isHearing: boolean;
  /** The number of holds: of locks, with any hold count, and of permits that are leases. */
  readonly held: number;
  /**
   * The number of these that Redis has not confirmed in time, or not since the machine stood still.
   * They are lost unless a renewal succeeds.
   */
  readonly suspect: number;
  /** The number of calls that wait for a lock, for permits or for a latch. */
  readonly waiting: number;
}

/**
 * It writes, because some servers answer but grant no lock. Examples are a replica, and a server
 * that is out of memory or cannot save.
 */
export const PING = defineScript({
  name: 'ping',
  keys: ['ping'],
  args: [],
  body: `
redis.call('set', ping, '', 'px', 1)
return 1`,
  reply: (raw) => (raw === 1 ? raw : undefined),
});

const TIMEOUT = { min: 1, max: 60_000 };

/**
 * The number of entries that are read of a long list: an inspection must not delay other clients.
 */
const SHOWN = 100;
/** The most permits that one call takes away. */
const MOST_TAKEN = 10_000;

/** Shows the state of the locks of one connection, for health checks, metrics and operators. */
export class LockMonitor {
  /**
   * @internal
   * @param others connections of the same name, to other servers
   */
  constructor(
    private readonly context: LockContext,
    private readonly others: readonly LockContext[] = [],
  ) {}

  /** The holds and waiters of this process at this moment. Sends nothing. */
  status(): LockStatus {
    const { settings, connection } = this.context;
    const all = [this.context, ...this.others];
    const holds = all.flatMap((context) => context.holds.all);
    return {
      connection: settings.name,
      clients: all.map(({ client }) => client),
      isUp: connection.isUp,
      isHearing: connection.isHearing ?? true,
      held: holds.length,
      suspect: holds.filter(({ state }) => state === 'suspect').length,
      waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  /**
   * Resolves with the time, in milliseconds, that Redis took to run a script that writes, as a lock
   * needs it. In a Cluster one master answers for all.
   * @throws {LockArgumentError} `timeoutMs` is no whole number from 1 to 60,000
   * @throws {LockBackendError} Redis cannot be used for locks, or did not answer for `timeoutMs`
   */
  async ping(timeoutMs = ANSWER_MS): Promise<number> {
    checkCount('timeoutMs', timeoutMs, TIMEOUT);
    const { connection, times, keys } = this.context;
    const deadline = new Deadline(times, timeoutMs, undefined);
    const ping = helperKey('nestjs_ping', keys.key('ping'));
    if ((await deadline.race(connection.run(PING, [ping], []))) !== OVER) return deadline.waitedMs;
    throw new LockBackendError(`Redis did not answer for ${String(timeoutMs)} ms`, {
      retryable: true,
      outcome: 'unknown',
    });
  }

  /**
   * Resolves with the state of this name in Redis: the holders, their leases and the waiters. It
   * runs one script, then one for each process among them, and changes nothing.
   * @throws {LockKeyError} the name is not valid
   * @throws {LockStateError} the key holds another type than a lock
   * @throws {LockBackendError} Redis did not answer, or the user may not read a key of one kind
   */
  async inspect(name: string): Promise<LockInspection> {
    const found = await this.#inspect(name, SHOWN);
    const waiters = found.queues.flatMap((queue) => queue.waiters);
    const whos = [...found.holders.map(({ owner }) => owner), ...waiters.map(({ who }) => who)];
    const processOf = await processesOf(this.context, whos);
    return {
      ...found,
      holders: found.holders.map((holder) => ({ ...holder, ...processOf(holder.owner) })),
      queues: found.queues.map((queue) => ({
        ...queue,
        waiters: queue.waiters.map((waiter) => ({ ...waiter, ...processOf(waiter.who) })),
      })),
    };
  }

  /**
   * Takes all holds of this name away from their owners, also up to 10,000 permits of a semaphore.
   * As `forceRelease` of the lock, it hands over or notifies the waiters. The event
   * `force-released` names the former holders. Resolves with false when there were none.
   * @param options.kind needed if the name is held in two ways, to read and to write
   * @throws {LockArgumentError} an option is unknown, or has a wrong value
   * @throws {LockKeyError} the name is not valid
   * @throws {LockStateError} it is held in two ways, or the key holds another type
   * @throws {LockBackendError} Redis did not answer, or refused
   */
  async forceRelease(
    name: string,
    options: ForceReleaseOptions & { readonly kind?: HeldKind | undefined } = {},
  ): Promise<boolean> {
    checkForceOptions(options, [...FORCE_OPTIONS, 'kind']);
    const { kind, ...how } = options;
    if (kind !== undefined && !HELD_KINDS.includes(kind)) {
      throw new LockArgumentError(
        `kind must be one of ${HELD_KINDS.join(', ')}, not ${describeValue(kind)}`,
      );
    }
    if (kind !== undefined && kind !== 'semaphore')
      return this.#lockOf(kind, name).forceRelease(how);
    const found = await this.#inspect(name, MOST_TAKEN);
    const held = kind ?? kindHeld(found);
    if (held === undefined) return false;
    if (held !== 'semaphore') return this.#lockOf(held, name).forceRelease(how);
    const { remainingMs } = found;
    const holders = found.holders
      .filter((holder) => holder.kind === 'semaphore')
      .map(({ owner, holdCount }) => ({ owner, holdCount }));
    const protocol = new PermitProtocol(this.context);
    return forceRelease(this.context, protocol, name, { holders, remainingMs }, how);
  }

  async #inspect(name: string, most: number): Promise<LockInspection> {
    const { connection, keys, holds } = this.context;
    const ours = this.context.holdsOn(keys.key(name));
    const lines = await askOnce(this.context, name, (key) =>
      connection.run(INSPECT_NAME, keysOf(key), [most]),
    );
    const found = inspectionOf(name, keys.key(name), lines);
    // A list that was cut short shows not all of them.
    if (found.holders.length === found.holderCount) holds.compare(ours, found.holders);
    return found;
  }

  #lockOf(kind: Exclude<HeldKind, 'semaphore'>, name: string): Lock {
    const { context } = this;
    if (kind === 'lock') return new LockService(context).get(name);
    if (kind === 'fair') return new FairLockService(context).get(name);
    return new ReadWriteLockService(context).get(name)[kind];
  }
}

/** @throws {LockStateError} it is held in two ways */
function kindHeld(found: LockInspection): HeldKind | undefined {
  const { name } = found;
  const [kind, ...others] = new Set(presentHolders(found).map(({ kind }) => kind as HeldKind));
  if (others.length === 0) return kind;
  throw new LockStateError(
    `Lock ${quoteName(name)} is held in two ways: give the kind, ${[kind, ...others].join(' or ')}`,
    { lockName: name },
  );
}
