import type { Clock } from '../time/clock.js';
import { Deadline, OVER } from '../time/deadline.js';
import { LockBackendError, quoteName, withLockName, type BackendOutcome } from '../api/errors.js';
import type { RedisConnection, Reply } from './connection.js';

/** Between two tries while Redis cannot be asked; a reconnect ends the pause early. */
const PAUSE_MS = 250;

/** Keeps why the last try has failed. */
export interface Asker {
  refusal: LockBackendError | undefined;
}

/**
 * Asks again and again until Redis answers. What failed with an unknown outcome before counts as
 * sent: the answer then carries the first send time, and that the script may have run twice.
 * @param ask says by its promise, too, that it failed
 * @param evenIfRefused asks again also when somebody has to repair something first
 * @throws {LockBackendError} `until` was over, or asking again is pointless
 */
export function untilAnswered<R>(
  connection: RedisConnection,
  clock: Clock,
  until: () => number,
  ask: () => Promise<Reply<R>>,
  asker?: Asker,
  evenIfRefused = false,
): Promise<Reply<R>> {
  let askedAt = clock.now();
  if (asker !== undefined) asker.refusal = undefined;
  // Most often the first answer is the last: nothing else is made for it.
  return ask().catch(async (first: unknown) => {
    let error = first;
    let firstSentAt: number | undefined;
    for (;;) {
      if (!(error instanceof LockBackendError)) throw error;
      if (asker !== undefined) asker.refusal = error;
      if (error.outcome === 'unknown') firstSentAt ??= askedAt;
      if (clock.now() >= until() || (!error.retryable && !evenIfRefused)) {
        throw firstSentAt === undefined ? error : asUnknown(error);
      }
      await pauseUntilUp(connection, clock);
      askedAt = clock.now();
      try {
        const reply = await ask();
        if (firstSentAt === undefined) return reply;
        return { value: reply.value, sentAt: firstSentAt, resent: true };
      } catch (again) {
        error = again;
      }
    }
  });
}

/**
 * As `untilAnswered`, for a caller who waits for so long and no longer.
 * @param name of the lock, if it is about one
 * @throws {LockBackendError} Redis has not answered in time, or refused
 */
export async function answerWithin<R>(
  limitMs: number,
  { connection, clock }: { readonly connection: RedisConnection; readonly clock: Clock },
  name: string | undefined,
  ask: () => Promise<Reply<R>>,
): Promise<Reply<R>> {
  const deadline = new Deadline(clock, limitMs, undefined);
  const until = () => (deadline.remainingMs === 0 ? -Infinity : Infinity);
  const asker: Asker = { refusal: undefined };
  try {
    const reply = await deadline.race(untilAnswered(connection, clock, until, ask, asker));
    if (reply !== OVER) return reply;
  } catch (error) {
    throw name === undefined ? error : withLockName(error, name);
  }
  const what = name === undefined ? 'A request' : `Lock ${quoteName(name)}`;
  throw notAnswered(what, limitMs, { lockName: name, outcome: 'unknown', cause: asker.refusal });
}

/** Of the kind of what stood in the way last, if that is known. */
export function notAnswered(
  what: string,
  waitedMs: number,
  { lockName, outcome, cause }: NotAnswered,
): LockBackendError {
  const why = cause === undefined ? 'it has not answered' : cause.message;
  const waited = String(Math.round(waitedMs));
  const message = `${what}: Redis could not be asked for ${waited} ms: ${why}`;
  const details = { lockName, retryable: true, outcome, cause };
  return cause?.amended(message, details) ?? new LockBackendError(message, details);
}

interface NotAnswered {
  readonly lockName: string | undefined;
  readonly outcome: BackendOutcome;
  readonly cause: LockBackendError | undefined;
}

/** An earlier try may have been executed, whatever became of the last one. */
export function asUnknown(error: LockBackendError): LockBackendError {
  return error.amended(error.message, { outcome: 'unknown' });
}

function pauseUntilUp(connection: RedisConnection, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      clock.cancel(timer);
      stop();
      resolve();
    };
    const timer = clock.after(PAUSE_MS, go);
    // Whoever waits for the outcome has a timer of his own; a clean-up must not keep a process alive.
    timer?.unref();
    const stop = connection.onUp(go);
  });
}
