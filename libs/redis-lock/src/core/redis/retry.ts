import { LockBackendError, quoteName, withLockName } from '../api/errors.js';
import type { Clock } from '../time/clock.js';
import { Deadline, OVER } from '../time/deadline.js';
import type { TimerHeap } from '../time/timer-heap.js';
import type { RedisConnection, Reply } from './connection.js';

/** The pause between two attempts while Redis does not answer. A reconnect ends it early. */
const PAUSE_MS = 250;

/** Keeps the error of the last attempt, until one succeeds. */
export interface Tries {
  refusal: LockBackendError | undefined;
}

interface Way {
  readonly connection: RedisConnection;
  readonly clock: Clock;
}

/**
 * Repeats a request until Redis answers. An attempt with an unknown outcome counts as sent. The
 * answer then has the first send time, and says that the script may have run twice.
 * @param ask reports each failure by its promise
 * @param evenIfRefused also repeats while an operator has to repair something
 * @throws {LockBackendError} the time was over, or a repetition is pointless
 */
export async function untilAnswered<R>(
  way: Way,
  until: () => number,
  ask: () => Promise<Reply<R>>,
  tries?: Tries,
  evenIfRefused = false,
): Promise<Reply<R>> {
  const askedAt = way.clock.now();
  if (tries !== undefined) tries.refusal = undefined;
  try {
    return await ask();
  } catch (error) {
    return retry(way, error, askedAt, until, ask, tries, evenIfRefused);
  }
}

/** `untilAnswered` from its first failure on. */
export async function retry<R>(
  { connection, clock }: Way,
  first: unknown,
  firstAskedAt: number,
  until: () => number,
  ask: () => Promise<Reply<R>>,
  tries?: Tries,
  evenIfRefused = false,
): Promise<Reply<R>> {
  let error = first;
  let askedAt = firstAskedAt;
  let firstSentAt: number | undefined;
  for (;;) {
    if (!(error instanceof LockBackendError)) throw error;
    if (tries !== undefined) tries.refusal = error;
    if (error.outcome === 'unknown') firstSentAt ??= askedAt;
    if (clock.now() >= until() || (!error.retryable && !evenIfRefused)) {
      throw firstSentAt === undefined ? error : asUnknown(error);
    }
    await pauseUntilUp(connection, clock);
    askedAt = clock.now();
    try {
      const reply = await ask();
      if (tries !== undefined) tries.refusal = undefined;
      if (firstSentAt === undefined) return reply;
      return { value: reply.value, sentAt: firstSentAt, resent: true };
    } catch (again) {
      error = again;
    }
  }
}

/**
 * As `untilAnswered`, for a caller that waits at most this long.
 * @param name of the lock, if the request concerns one
 * @throws {LockBackendError} Redis did not answer in time, or refused
 */
export async function answerWithin<R>(
  limitMs: number,
  way: Way & { readonly times: TimerHeap },
  name: string | undefined,
  ask: () => Promise<Reply<R>>,
): Promise<Reply<R>> {
  const deadline = new Deadline(way.times, limitMs, undefined);
  const until = () => (deadline.remainingMs === 0 ? -Infinity : Infinity);
  const tries: Tries = { refusal: undefined };
  try {
    const reply = await deadline.race(untilAnswered(way, until, ask, tries));
    if (reply !== OVER) return reply;
  } catch (error) {
    throw name === undefined ? error : withLockName(error, name);
  }
  const what = name === undefined ? 'A request' : `Lock ${quoteName(name)}`;
  throw notAnswered(what, limitMs, { lockName: name, outcome: 'unknown', cause: tries.refusal });
}

/** An error of the same kind as the last failure, if there was one. */
export function notAnswered(
  what: string,
  waitedMs: number,
  { lockName, outcome, cause }: NotAnswered,
): LockBackendError {
  const why = cause === undefined ? 'no answer' : cause.message;
  const waited = String(Math.round(waitedMs));
  const message = `${what}: Redis was unavailable for ${waited} ms: ${why}`;
  const details = { lockName, retryable: true, outcome, cause };
  return cause?.amended(message, details) ?? new LockBackendError(message, details);
}

interface NotAnswered {
  readonly lockName: string | undefined;
  readonly outcome: LockBackendError['outcome'];
  readonly cause: LockBackendError | undefined;
}

/** An earlier attempt may have been executed, even if the last one was not. */
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
    // A caller that waits for the outcome has a time limit. A clean-up must not keep a process
    // alive.
    timer?.unref();
    const stop = connection.onUp(go);
  });
}
