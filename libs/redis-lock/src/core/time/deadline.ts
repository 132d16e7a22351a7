import { listenBefore, reasonOf, refuseAborted, unlistenTo, type AbortListener } from './abort.js';
import type { Group, Timed, TimerHeap } from './timer-heap.js';

/** The time is up. */
export const OVER = Symbol('over');

const NOTHING_TO_UNDO = () => undefined;

/** The time limit and the abort signal of one call, for all its waits. */
export class Deadline {
  readonly startedAt: number;

  constructor(
    readonly times: TimerHeap,
    readonly limitMs: number,
    readonly signal: AbortSignal | undefined,
    startedAt?: number,
  ) {
    this.refuseAborted();
    this.startedAt = startedAt ?? times.clock.now();
  }

  get waitedMs(): number {
    return this.times.clock.now() - this.startedAt;
  }

  get remainingMs(): number {
    return Math.max(0, this.limitMs - this.waitedMs);
  }

  /** @throws the signal's reason, if it has aborted */
  refuseAborted(): void {
    refuseAborted(this.signal);
  }

  /**
   * Resolves with the result of `start`, or with `OVER` once the time is up. Rejects with the
   * signal's reason. `start` may return a function that runs when the wait ends, in every case.
   */
  wait<T>(
    start: (resolve: (value: T) => void, reject: (reason: Error) => void) => () => void,
  ): Promise<T | typeof OVER> {
    return new Promise((resolve, reject) => {
      const wait = new Wait(this, resolve as (value: unknown) => void, reject);
      const stop = start(
        (value) => {
          if (wait.end()) resolve(value);
        },
        (reason) => {
          if (wait.end()) reject(reason);
        },
      );
      // `start` may settle before it returns its function.
      if (wait.isOver) stop();
      else wait.stop = stop;
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

/** One wait. It ends once, by the event that comes first. */
class Wait implements Timed, AbortListener {
  heapIndex = -1;
  group: Group | undefined = undefined;
  isOver = false;
  stop: () => void = NOTHING_TO_UNDO;

  constructor(
    private readonly deadline: Deadline,
    private readonly resolve: (value: unknown) => void,
    private readonly reject: (reason: Error) => void,
  ) {
    const { times, signal, startedAt, limitMs } = deadline;
    const begin = () => {
      times.beginWait(this, startedAt + limitMs);
    };
    // The signal comes first. If listening to it fails, no timer is set and nothing has begun.
    if (signal === undefined) begin();
    else listenBefore(signal, this, begin);
  }

  onDue(): void {
    // On a busy machine, Node may not have read an answer that came in time.
    this.deadline.times.clock.afterReading(() => {
      if (this.end()) this.resolve(OVER);
    });
  }

  onAbort(): void {
    if (this.end() && this.deadline.signal !== undefined)
      this.reject(reasonOf(this.deadline.signal));
  }

  /** Returns whether this call has ended the wait. */
  end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    const { times, signal } = this.deadline;
    times.endWait(this);
    if (signal !== undefined) unlistenTo(signal, this);
    this.stop();
    return true;
  }
}
