import { tracingChannel } from 'node:diagnostics_channel';

import { LockTimeoutError } from './api/errors.js';
import type { Subject } from './api/observer.js';
import type { Call } from './waiting/waiter.js';

/**
 * `busy`: somebody else had it all the time. `aborted`: by the caller's signal. `failed`: every other
 * error.
 */
export type AcquisitionOutcome = 'acquired' | 'busy' | 'aborted' | 'failed';

/**
 * What subscribers of the tracing channel `nestjs-redis-lock:acquire` are given, from the start of a
 * call to its end.
 */
export interface LockAcquisitionMessage extends Subject {
  /** The name of the connection. */
  readonly connection: string;
  /** Known once the call has ended. */
  outcome?: AcquisitionOutcome;
  waitedMs?: number;
}

const acquisitions = tracingChannel<unknown, LockAcquisitionMessage>('nestjs-redis-lock:acquire');

/** Tells `node:diagnostics_channel` of one call for a lock, if anybody listens; otherwise it is free. */
export function traced<R>(
  call: Call,
  work: () => Promise<R>,
  isRefusal: (result: R) => boolean,
): Promise<R> {
  if (!acquisitions.hasSubscribers) return work();
  const { context, deadline, name, kind, label } = call;
  const connection = context.settings.name;
  const message: LockAcquisitionMessage = { connection, name, kind, label };
  const end = (outcome: AcquisitionOutcome) => {
    message.outcome = outcome;
    message.waitedMs = deadline.waitedMs;
  };
  return acquisitions.tracePromise(async () => {
    try {
      const result = await work();
      end(isRefusal(result) ? 'busy' : 'acquired');
      return result;
    } catch (error) {
      if (deadline.isAborted) end('aborted');
      else end(error instanceof LockTimeoutError ? 'busy' : 'failed');
      throw error;
    }
  }, message);
}
