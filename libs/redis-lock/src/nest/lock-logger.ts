import { Logger } from '@nestjs/common';

import { quoteName, UNSET_PERMITS, type LeaseLostError } from '../core/api/errors.js';
import {
  hearsCalls,
  tell,
  type InnerObserver,
  type LockEvent,
  type LockKind,
  type LockObserver,
} from '../core/api/observer.js';
import { placeOf } from '../core/client-record.js';

type Level = 'error' | 'warn' | 'log';

/** The log levels of the events that matter to operators. */
const LEVELS: Partial<Record<LockEvent['type'], Level>> = {
  opened: 'log',
  lost: 'error',
  suspect: 'warn',
  recovered: 'log',
  'force-released': 'warn',
  'renewal-failed': 'warn',
  'release-failed': 'warn',
  'wake-up-failed': 'warn',
  'connection-failed': 'warn',
  'connection-restored': 'log',
  'messages-failed': 'warn',
  warning: 'warn',
};

/** Writes events to Nest's log, and then passes them to the application's own observer. */
export class LockLogger implements InnerObserver {
  readonly #logger = new Logger('RedisLock');

  /** @param logAcquisitions whether the events of ordinary calls are logged as well */
  constructor(
    private readonly next?: LockObserver,
    private readonly logAcquisitions = false,
  ) {}

  get hearsCalls(): boolean {
    return this.logAcquisitions || hearsCalls(this.next);
  }

  observe(event: LockEvent): void {
    try {
      const level = this.#levelOf(event);
      // Builds no text that is not logged: this runs twice for every acquisition.
      if (level !== undefined) this.#logger[level](textOf(event));
    } finally {
      tell(this.next, event);
    }
  }

  #levelOf(event: LockEvent): Level | undefined {
    // A caller that waits without a holder means an outage, or a semaphore that has no permits
    // yet.
    if (event.type === 'waiting' && (event.error !== undefined || event.blockedBy !== undefined)) {
      return 'warn';
    }
    return LEVELS[event.type] ?? (this.logAcquisitions ? 'log' : undefined);
  }
}

function textOf(event: LockEvent): string {
  const lock = 'name' in event ? `${nounOf(event.kind)} ${quoteName(event.name)}` : '';
  if (event.type === 'opened') return ownersIn(event);
  switch (event.type) {
    case 'acquired':
      return `${lock} acquired after ${ms(event.waitedMs)}, hold count ${String(event.holdCount)}`;
    case 'waiting':
      return `${lock}: a caller still waits after ${ms(event.waitedMs)}: ${obstacle(event)}`;
    case 'timed-out':
      return `${lock} was not acquired after ${ms(event.waitedMs)}`;
    case 'released':
      return `${lock} released${event.outcome === 'done' ? '' : '; Redis did not confirm it'}`;
    case 'release-failed':
      return `${lock} ${event.leased ? UNRELEASED : MISSED}: ${reason(event.error)}`;
    case 'wake-up-failed':
      return `${lock} is free, but its waiters were not notified; they find out by polling`;
    case 'suspect':
      return `${lock} may soon be lost: ${reason(event.error)}`;
    case 'recovered':
      return `${lock} is safe again: Redis confirmed the lease`;
    case 'lost':
      return `${event.error.message}; another owner may hold it now${failedRenewal(event.error)}`;
    case 'late-grant':
      return `${lock} was granted after its caller stopped waiting; it is released again`;
    case 'force-released':
      return `${lock} was taken away from ${takenFrom(event)}`;
    case 'renewed':
      return `Renewed ${leases(event.leases)}`;
    case 'renewal-failed':
      return `Could not renew ${leases(event.leases)}: ${reason(event.error)}`;
    case 'connection-failed':
      return `Redis is not available for locks; trying again: ${reason(event.error)}`;
    case 'connection-restored':
      return 'Redis is available for locks again';
    case 'messages-failed':
      return `Wake-up messages cannot be received, so waiters poll: ${reason(event.error)}`;
    case 'warning':
      return event.message;
  }
}

function nounOf(kind: LockKind): string {
  if (kind === 'latch') return 'Latch';
  return kind.endsWith('semaphore') ? 'Semaphore' : 'Lock';
}

const UNRELEASED = 'could not be released; it expires with its lease';
const MISSED = 'may have missed a release or count-down; if so, repeat it by hand';

function failedRenewal({ renewalFailedAt, renewalFailedWith }: LeaseLostError): string {
  if (renewalFailedAt === undefined) return '';
  return `; a renewal failed at ${renewalFailedAt.toISOString()}: ${String(renewalFailedWith)}`;
}

function ms(value: number): string {
  return `${String(Math.round(value))} ms`;
}

function takenFrom({
  holders,
  remainingMs,
  reason,
}: Extract<LockEvent, { type: 'force-released' }>): string {
  const [process] = holders.flatMap((holder) => holder.process ?? []);
  const one = process === undefined ? 'its holder' : `its holder (${placeOf(process)})`;
  const who = holders.length === 1 ? one : `its ${String(holders.length)} holders`;
  const left = remainingMs === Infinity ? 'with no expiry' : `with ${ms(remainingMs)} left`;
  return `${who} by forceRelease(), ${left}${reason === undefined ? '' : `: ${quoteName(reason)}`}`;
}

function ownersIn(event: Extract<LockEvent, { type: 'opened' }>): string {
  return `Owner ids of this process (${placeOf(event)}) begin with ${event.clients.join(' or ')}`;
}

function leases(count: number): string {
  return count === 1 ? '1 lease' : `${String(count)} leases`;
}

function obstacle({ kind, error, blockedBy }: Extract<LockEvent, { type: 'waiting' }>): string {
  if (error !== undefined) return reason(error);
  if (blockedBy === 'unset') return UNSET_PERMITS;
  return kind === 'latch' ? 'the latch is closed' : 'another owner holds it';
}

function reason(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  // A host with several addresses fails with an error that has a code and no message.
  const { message, code } = error as Partial<NodeJS.ErrnoException>;
  return String(message === '' ? code : message);
}
