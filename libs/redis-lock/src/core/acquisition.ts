import type { LockSubject } from './api/observer.js';
import type { ResolvedAcquireOptions } from './api/options.js';
import type { Session } from './session.js';

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
