import { tracingChannel } from 'node:diagnostics_channel';

import { LockTimeoutError } from './api/errors.js';
import type { Acquisition } from './acquisition.js';
import { waitedMs } from './acquisition.js';
import type { LockSubject } from './api/observer.js';

/**
 * The message of the tracing channel `nestjs-redis-lock:acquire`: one for each call, from its start
 * to its end.
 */
export interface LockAcquisitionMessage extends LockSubject {
  /** The name of the connection. */
  readonly connection: string;
  /**
   * Known once the call has ended.
   * - `busy`: other owners held it during the whole waiting time.
   * - `aborted`: the caller's signal ended it.
   * - `failed`: any other error.
   */
  outcome?: 'acquired' | 'busy' | 'aborted' | 'failed';
  waitedMs?: number;
}

const acquisitions = tracingChannel<unknown, LockAcquisitionMessage>('nestjs-redis-lock:acquire');

/** The channel has subscribers. Without one, tracing costs nothing. */
export function isTraced(): boolean {
  return acquisitions.hasSubscribers;
}

/** Reports one call for a lock to `node:diagnostics_channel`. */
export function traced<R>(
  acquisition: Acquisition,
  work: () => Promise<R>,
  isRefusal: (result: R) => boolean,
): Promise<R> {
  const { session, options, name, kind, label } = acquisition;
  const connection = session.settings.name;
  const message: LockAcquisitionMessage = { connection, name, kind, label };
  const end = (outcome: LockAcquisitionMessage['outcome'] & string) => {
    message.outcome = outcome;
    message.waitedMs = waitedMs(acquisition);
  };
  return acquisitions.tracePromise(async () => {
    try {
      const result = await work();
      end(isRefusal(result) ? 'busy' : 'acquired');
      return result;
    } catch (error) {
      if (options.signal?.aborted === true) end('aborted');
      else end(error instanceof LockTimeoutError ? 'busy' : 'failed');
      throw error;
    }
  }, message);
}
