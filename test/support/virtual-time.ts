import { AsyncResource } from 'node:async_hooks';
import { afterAll, beforeAll } from '@jest/globals';

type Callback = (...args: unknown[]) => void;

interface VirtualTimer {
  readonly dueAt: number;
  readonly callback: () => void;
  isCancelled: boolean;
  ref(): VirtualTimer;
  unref(): VirtualTimer;
  hasRef(): boolean;
}

const { setTimeout, setImmediate, clearTimeout, clearImmediate } = globalThis;
const REAL = { setTimeout, setImmediate, clearTimeout, clearImmediate };
const REAL_NOW = { wall: Date.now, monotonic: performance.now };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Whenever nothing happens any more, the next timer is due. */
class VirtualTime {
  /** In the order in which they are due; among equal times, in that in which they were armed. */
  readonly #timers: VirtualTimer[] = [];
  readonly #startedAt = Date.now();
  #isFiring = false;
  now = 0;
  isOver = false;

  get wall(): number {
    return Math.floor(this.#startedAt + this.now);
  }

  arm(delayMs: number, callback: Callback, args: unknown[]): VirtualTimer {
    const context = new AsyncResource('Timeout');
    const fire = () => {
      context.runInAsyncScope(callback, undefined, ...args);
    };
    const itself = () => timer;
    const dueAt = this.now + delayMs;
    const timer: VirtualTimer = {
      ...{ dueAt, callback: fire, isCancelled: false },
      ...{ ref: itself, unref: itself, hasRef: () => true },
    };
    this.#timers.splice(this.#placeOf(dueAt), 0, timer);
    void this.#fireAll();
    return timer;
  }

  cancel(timer: VirtualTimer | undefined): void {
    if (timer) timer.isCancelled = true;
  }

  async #fireAll(): Promise<void> {
    if (this.#isFiring) return;
    this.#isFiring = true;
    await turn();
    for (let next = this.#timers.shift(); next && !this.isOver; next = this.#timers.shift()) {
      if (next.isCancelled) continue;
      this.now = Math.max(this.now, next.dueAt);
      next.callback();
      await turn();
    }
    this.#isFiring = false;
  }

  #placeOf(dueAt: number): number {
    let [from, to] = [0, this.#timers.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#timers[middle]?.dueAt ?? Infinity) <= dueAt) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

let current: VirtualTime | undefined;

/** Whether time is made now. */
export function isTimeMade(): boolean {
  return current !== undefined;
}

/**
 * For the specs of a file time is made: what waits for ten seconds has waited at once. Only for what
 * waits for nothing outside of this process.
 */
export function useVirtualTime(): void {
  beforeAll(() => {
    if (current !== undefined) return;
    const time = new VirtualTime();
    current = time;
    // Node waits for whole milliseconds, at least for one.
    const after = (callback: Callback, ms = 0, ...args: unknown[]) =>
      time.arm(Math.max(1, Math.trunc(ms)), callback, args);
    const cancel = (timer: VirtualTimer | undefined) => {
      time.cancel(timer);
    };
    Object.assign(globalThis, {
      setTimeout: after,
      setImmediate: (callback: Callback, ...args: unknown[]) => time.arm(TURN_MS, callback, args),
      ...{ clearTimeout: cancel, clearImmediate: cancel },
    });
    Date.now = () => time.wall;
    performance.now = () => time.now;
  });
  afterAll(() => {
    if (current !== undefined) current.isOver = true;
    current = undefined;
    Object.assign(globalThis, REAL);
    Date.now = REAL_NOW.wall;
    performance.now = REAL_NOW.monotonic;
  });
}

/** As long as a turn of the event loop takes. */
const TURN_MS = 0.1;

/** As long as a command or an answer is on its way between two processes of a machine. */
const LATENCY_MS = 0.2;

/** Calls back when what is sent now has arrived. */
export function afterLatency(callback: () => void): void {
  if (current === undefined) setImmediate(callback);
  else current.arm(LATENCY_MS, callback, []);
}

/** The event loop stands still. */
export function stallProcess(ms: number): void {
  const until = performance.now() + ms;
  if (current !== undefined) current.now = until;
  while (performance.now() < until);
}
