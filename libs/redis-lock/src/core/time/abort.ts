import { LockArgumentError } from '../api/errors.js';

/** Hears that a signal has aborted. */
export interface AbortListener {
  onAbort(): void;
}

const NO_REASON = new DOMException('This operation was aborted', 'AbortError');

/** The caller's own reason must arrive as it was given. A signal that is no real one may have none. */
export function reasonOf(signal: AbortSignal): Error {
  return signal.reason === undefined ? NO_REASON : (signal.reason as Error);
}

/** @throws the signal's reason, if the signal has ended the call */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw reasonOf(signal);
}

/** Whether the signal has ended the call with this error. */
export function isAbort(signal: AbortSignal | undefined, error: unknown): boolean {
  return signal?.aborted === true && error === reasonOf(signal);
}

/** All who wait with one signal. */
class Audience {
  readonly listeners = new Set<AbortListener>();
  readonly tell = () => {
    // Last come, first gone: in a queue in Redis nobody has to move up for one who leaves at its end.
    for (const listener of [...this.listeners].reverse()) listener.onAbort();
  };
}

const audiences = new WeakMap<AbortSignal, Audience>();

/**
 * Listens, by one listener for all who wait with the same signal: of more than ten, Node warns as of a leak.
 * @throws {LockArgumentError} the signal is none, or is broken
 */
export function listenTo(signal: AbortSignal, listener: AbortListener): void {
  const audience = audiences.get(signal) ?? new Audience();
  if (audience.listeners.size === 0) {
    try {
      signal.addEventListener('abort', audience.tell);
    } catch (cause) {
      const what = 'signal must be an AbortSignal, and addEventListener of this one throws';
      throw new LockArgumentError(`${what}; take the signal of an AbortController`, { cause });
    }
    audiences.set(signal, audience);
  }
  audience.listeners.add(listener);
}

export function unlistenTo(signal: AbortSignal, listener: AbortListener): void {
  const audience = audiences.get(signal);
  if (audience?.listeners.delete(listener) !== true || audience.listeners.size > 0) return;
  try {
    signal.removeEventListener('abort', audience.tell);
  } catch {
    // An error here must not reach the holder, nor the waiters behind this caller.
  }
}
