import { Logger } from '@nestjs/common';
import type { Lease, LockService } from 'nestjs-redis-lock';
import { setTimeout as delay } from 'node:timers/promises';

// Works in one instance at a time. Resolves after `end` has aborted.
export async function lead(
  locks: LockService,
  work: (signal: AbortSignal) => Promise<void>, // settles soon after its signal aborts
  end: AbortSignal,
): Promise<void> {
  const options = { waitTimeMs: Infinity, signal: end };
  const run = ({ signal }: Lease) => work(AbortSignal.any([signal, end]));
  while (!end.aborted) {
    await locks.using('leader', run, options).catch((error: unknown) => {
      if (!end.aborted) Logger.warn(`leads no longer: ${String(error)}`);
    });
    await delay(1_000, undefined, { signal: end }).catch(() => undefined);
  }
}
