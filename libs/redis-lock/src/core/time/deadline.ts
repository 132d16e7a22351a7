import type { Clock, Timer } from './clock.js';
import { LockArgumentError } from '../api/errors.js';

/** Time is up. */
export const OVER = Symbol('over');

/** A wait that takes longer is worth a warning. */
export const SLOW_WAIT_MS = 1_000;

/** Called back once, when a wait has become slow. */
export interface Waiter {
  stillWaiting(): void;
}

/**
 * What one call is willing to spend on waiting: a time limit and an abort signal, for all the
 * things it has to wait for one after the other.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #limitMs: number;
  readonly #signal: AbortSignal | undefined;

  constructor(clock: Clock, limitMs: number, signal: AbortSignal | undefined) {
    if (signal?.aborted === true) throw reasonOf(signal);
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#limitMs = limitMs;
    this.#signal = signal;
  }

  get waitedMs(): number {
    return this.#clock.now() - this.#startedAt;
  }

  get isAborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /** @throws what the signal says, if it has ended the call */
  refuseAborted(): void {
    if (this.#signal?.aborted === true) throw reasonOf(this.#signal);
  }

  /** Whether it is this by which the signal has ended the call. */
  isAbort(error: unknown): boolean {
    return this.#signal?.aborted === true && error === reasonOf(this.#signal);
  }

  get remainingMs(): number {
    return Math.max(0, this.#limitMs - this.waitedMs);
  }

  /**
   * Resolves with what `start` settles with, or with `OVER` once time is up. Rejects with the
   * signal's reason. `start` may return what has to be undone when the waiting ends, whichever way.
   */
  wait<T>(
    start: (resolve: (value: T) => void, reject: (reason: Error) => void) => () => void,
  ): Promise<T | typeof OVER> {
    return this.waitOr(start, () => OVER);
  }

  /**
   * As `wait`, with what there is to say once time is up; if that throws, it rejects with it.
   * @param waiter is called back in the scope of the call
   */
  waitOr<T, O>(
    start: (resolve: (value: T) => void, reject: (reason: Error) => void) => () => void,
    over: () => O,
    waiter?: Waiter,
  ): Promise<T | O> {
    return new Promise<T | O>((resolve, reject) => {
      const signal = this.#signal;
      if (signal?.aborted === true) {
        reject(reasonOf(signal));
        return;
      }
      const end = new End(this.#clock);
      const isOver = () => {
        if (end.now())
          resolve(
            new Promise<O>((say) => {
              say(over());
            }),
          );
      };
      // First: when it cannot be listened to, nothing is armed or begun.
      if (signal !== undefined) {
        end.unlisten = onAbortOf(signal, () => {
          if (end.now()) reject(reasonOf(signal));
        });
      }
      end.arm(this, waiter, isOver);
      const stop = start(
        (value) => {
          if (end.now()) resolve(value);
        },
        (reason) => {
          if (end.now()) reject(reason);
        },
      );
      // `start` may settle before it returns what has to be undone.
      if (end.isPast) stop();
      else end.stop = stop;
    });
  }

  /** As `wait`, for a promise that goes on by itself. */
  race<T>(promise: Promise<T>): Promise<T | typeof OVER> {
    return this.wait<T>((resolve, reject) => {
      promise.then(resolve, reject);
      return NOTHING_TO_UNDO;
    });
  }
}

export const NOTHING_TO_UNDO = () => undefined;

/** Of one waiting: it ends once, in whichever way comes first. */
class End {
  isPast = false;
  timer: Timer | undefined;
  unlisten: (() => void) | undefined;
  stop: (() => void) | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** In the scope of the caller, whose timer this is. */
  arm(deadline: Deadline, waiter: Waiter | undefined, isOver: () => void): void {
    const slowInMs = waiter === undefined ? 0 : SLOW_WAIT_MS - deadline.waitedMs;
    const { remainingMs } = deadline;
    const nextMs = slowInMs > 0 ? Math.min(slowInMs, remainingMs) : remainingMs;
    this.timer = this.#clock.after(nextMs, () => {
      if (waiter !== undefined && deadline.remainingMs > 0) {
        waiter.stillWaiting();
        if (!this.isPast) this.arm(deadline, waiter, isOver);
      } else {
        // On a busy machine, what was answered in time may not have been read yet.
        this.#clock.afterReading(isOver);
      }
    });
  }

  /** Answers whether it was this that has ended it. */
  now(): boolean {
    if (this.isPast) return false;
    this.isPast = true;
    this.#clock.cancel(this.timer);
    this.unlisten?.();
    this.stop?.();
    return true;
  }
}

const NO_REASON = new DOMException('This operation was aborted', 'AbortError');

/** The caller's own, whatever it is, must arrive as it was given. One that is no real signal may have none. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason === undefined ? NO_REASON : (signal.reason as Error);
}

/** All who wait with one signal. */
class Audience {
  readonly callbacks = new Set<() => void>();
  readonly tell = () => {
    // Last come, first gone: in a queue in Redis nobody has to move up for one who leaves at its end.
    for (const callback of [...this.callbacks].reverse()) callback();
  };
}

const audiences = new WeakMap<AbortSignal, Audience>();

/**
 * One listener for all who wait with the same signal: of more than ten, Node warns as of a leak.
 * @returns undoes it
 * @throws {LockArgumentError} the signal is none, or is broken
 */
function onAbortOf(signal: AbortSignal, callback: () => void): () => void {
  const audience = audiences.get(signal) ?? new Audience();
  const { callbacks, tell } = audience;
  if (callbacks.size === 0) {
    listen(signal, tell);
    audiences.set(signal, audience);
  }
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size === 0) unlisten(signal, tell);
  };
}

function listen(signal: AbortSignal, listener: () => void): void {
  try {
    signal.addEventListener('abort', listener);
  } catch (cause) {
    const what = 'signal must be an AbortSignal, and addEventListener of this one throws';
    throw new LockArgumentError(`${what}; take the signal of an AbortController`, { cause });
  }
}

function unlisten(signal: AbortSignal, listener: () => void): void {
  try {
    signal.removeEventListener('abort', listener);
  } catch {
    // An error here must not reach the holder, nor the waiters behind this caller.
  }
}
