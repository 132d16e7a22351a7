import { LockTimeoutError } from './api/errors.js';
import type { LockSubject } from './api/observer.js';
import type { ResolvedAcquireOptions } from './api/options.js';
import type { HeldLease } from './holding/held-lease.js';
import { surroundingLeases } from './holding/scope.js';
import type { Session } from './session.js';
import type { Refusal } from './waiting/known.js';

/** One call for a lease or for permits: its options, and its start. */
export interface Acquisition extends LockSubject {
  readonly session: Session;
  readonly key: string;
  readonly options: ResolvedAcquireOptions;
  readonly startedAt: number;
}

export function waitedMs({ session, startedAt }: Acquisition): number {
  return session.clock.now() - startedAt;
}

/** The error of a call that was refused. It names the locks of the holds that surround the call. */
export function timeoutError(
  acquisition: Acquisition,
  { remainingMs, blockedBy }: Refusal,
): LockTimeoutError {
  const around = surroundingLeases().filter(({ hold }) => hold.isLive);
  const waitsForItself = blockedBy === 'other' && around.some((at) => excludes(at, acquisition));
  return new LockTimeoutError(acquisition.name, {
    waitedMs: waitedMs(acquisition),
    retryAfterMs: remainingMs,
    blockedBy: waitsForItself ? 'surrounding' : blockedBy,
    holding: [...new Set(around.map((lease) => lease.name))],
  });
}

/** Readers share the lock with each other. */
function excludes({ hold }: HeldLease, { session, key, kind }: Acquisition): boolean {
  const { protocol } = hold;
  if (hold.session !== session || hold.key !== key) return false;
  return protocol.nesting !== 'none' && !(protocol.isShared && protocol.kind === kind);
}
