import { LockArgumentError } from '../api/errors.js';

/** Called when a signal aborts. */
export interface AbortListener {
  onAbort(): void;
}

const NO_REASON = new DOMException('This operation was aborted', 'AbortError');

/** The caller's own reason, unchanged. An object that only looks like a signal may have none. */
export function reasonOf(signal: AbortSignal): Error {
  return signal.reason === undefined ? NO_REASON : (signal.reason as Error);
}

/** @throws the signal's reason, if it has aborted */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw reasonOf(signal);
}

/** Whether the signal has ended the call with this error. */
export function isAbort(signal: AbortSignal | undefined, error: unknown): boolean {
  return signal?.aborted === true && error === reasonOf(signal);
}

/** The waiters of one signal. */
class Audience {
  readonly listeners = new Set<AbortListener>();
  readonly tell = () => {
    // The last waiter leaves first, so that no waiter behind it moves up in a queue in Redis.
    for (const listener of [...this.listeners].reverse()) listener.onAbort();
  };
}

/** By signal, while the audience has listeners. */
const audiences = new WeakMap<AbortSignal, Audience>();

/**
 * Adds one listener for all waiters of a signal: with more than ten, Node warns of a leak.
 * @throws {LockArgumentError} the value is no signal, or is broken
 */
function listenTo(signal: AbortSignal, listener: AbortListener): void {
  const audience = audiences.get(signal);
  if (audience !== undefined) {
    audience.listeners.add(listener);
    return;
  }
  const own = new Audience();
  try {
    signal.addEventListener('abort', own.tell);
  } catch (cause) {
    leave(signal, own);
    const what = 'signal must be an AbortSignal, and addEventListener of this one throws';
    throw new LockArgumentError(`${what}; take the signal of an AbortController`, { cause });
  }
  if (audiences.has(signal)) {
    // The signal was used once more as it was listened to, and may be as it is left.
    leave(signal, own);
    listenTo(signal, listener);
  } else {
    audiences.set(signal, own);
    own.listeners.add(listener);
  }
}

/**
 * Listens to the signal and takes a step, unless the signal has aborted. A signal that is listened
 * to may abort, throw, close the session or use the key. After an error nothing listens.
 */
export function listenBefore<T>(signal: AbortSignal, listener: AbortListener, step: () => T): T {
  refuseAborted(signal);
  listenTo(signal, listener);
  try {
    refuseAborted(signal);
    return step();
  } catch (error) {
    unlistenTo(signal, listener);
    throw error;
  }
}

export function unlistenTo(signal: AbortSignal, listener: AbortListener): void {
  const audience = audiences.get(signal);
  if (audience?.listeners.delete(listener) !== true || audience.listeners.size > 0) return;
  audiences.delete(signal);
  leave(signal, audience);
}

function leave(signal: AbortSignal, { tell }: Audience): void {
  try {
    signal.removeEventListener('abort', tell);
  } catch {
    // An error here must not reach the holder, nor the waiters behind this caller.
  }
}
