import type { Clock } from '../../redis-lock/src/core/time/clock.js';
import type { Random as Randomness } from '../../redis-lock/src/core/time/random.js';
import type { Random } from './random.js';
import { IMMEDIATE, TIMER, type Actor, type Event, type World } from './world.js';

/** 2026-01-01, by the wall clock of a world that begins. */
export const EPOCH_MS = 1_767_225_600_000;
/** Node's event loop is late by up to this. */
const LATE_MS = 0.3;
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** A process of Node: its event loop, its clocks and its random numbers. */
export class SimulatedProcess implements Actor {
  stillUntil = 0;
  /** How far its wall clock is ahead of the world's. */
  #wallAheadMs = 0;
  readonly #wallSteps: { readonly at: number; readonly ms: number }[] = [];
  /** How long its machine was suspended, altogether. */
  suspendedMs = 0;
  readonly #random: Random;
  readonly #deathWatch = new Set<() => void>();

  /** @param pace how much faster than the world its monotonic clock is, such as 1.001 */
  constructor(
    private readonly world: World,
    readonly name: string,
    private readonly pace: number,
  ) {
    this.#random = world.random.fork(name);
  }

  get isDead(): boolean {
    return this.stillUntil === Infinity;
  }

  get isStill(): boolean {
    return this.stillUntil > this.world.now;
  }

  readonly clock: Clock = {
    now: () => (this.world.now - this.suspendedMs) * this.pace,
    wall: () => Math.floor(EPOCH_MS + this.world.now + this.#wallAheadMs),
    after: (delayMs, callback) => {
      if (delayMs > LONGEST_DELAY_MS) return undefined;
      return new SimulatedTimer(this, this.world, Math.max(1, Math.ceil(delayMs)), callback);
    },
    cancel: (timer) => {
      (timer as SimulatedTimer | undefined)?.cancel();
    },
    afterReading: (callback) => {
      this.world.at(this.world.now, callback, this, IMMEDIATE);
    },
  };

  readonly random: Randomness = {
    number: () => this.#random.next(),
    uuid: () => {
      const groups = [8, 4, 4, 4, 12].map((length) => this.#digits(length));
      return groups.join('-');
    },
    fill: (bytes) => {
      bytes.write(this.#digits(2 * bytes.length), 'hex');
    },
  };

  /** How late a callback of this process is. */
  get lateMs(): number {
    return this.#random.next() * LATE_MS;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.after(ms, resolve);
    });
  }

  /** Its event loop does nothing, as while it is stopped or computes. Its clocks go on. */
  stall(ms: number): void {
    this.stillUntil = Math.max(this.stillUntil, this.world.now + ms);
  }

  /** Its machine sleeps: the monotonic clock stands still, too. */
  suspend(ms: number): void {
    this.stillUntil = Math.max(this.stillUntil, this.world.now) + ms;
    this.suspendedMs += ms;
  }

  /** Its wall clock is set. */
  stepWall(ms: number): void {
    this.#wallAheadMs += ms;
    this.#wallSteps.push({ at: this.world.now, ms });
  }

  /** How far its wall clock was set back since then. */
  setBackMs(since: number): number {
    const steps = this.#wallSteps.filter(({ at, ms }) => at >= since && ms < 0);
    return steps.reduce((sum, { ms }) => sum - ms, 0);
  }

  /** It ends at once, and its sockets with it. */
  kill(): void {
    this.stillUntil = Infinity;
    for (const dead of this.#deathWatch) dead();
    this.#deathWatch.clear();
  }

  /** Calls back when it is killed. The returned function ends this. */
  onDeath(callback: () => void): () => void {
    this.#deathWatch.add(callback);
    return () => {
      this.#deathWatch.delete(callback);
    };
  }

  #digits(count: number): string {
    let digits = '';
    while (digits.length < count) {
      digits += Math.floor(this.#random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    }
    return digits.slice(0, count);
  }
}

class SimulatedTimer {
  readonly #dueAt: number;
  #event: Event;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly world: World,
    delayMs: number,
    private readonly callback: () => void,
  ) {
    this.#dueAt = process.clock.now() + delayMs;
    this.#event = this.#arm();
  }

  /** Never early by the clock of its process, which stands still while the machine sleeps. */
  #arm(): Event {
    const { world, process } = this;
    const restMs = this.#dueAt - process.clock.now();
    const work = () => {
      if (this.#dueAt > process.clock.now()) this.#event = this.#arm();
      else this.callback();
    };
    return world.at(world.now + restMs + process.lateMs, work, process, TIMER);
  }

  cancel(): void {
    this.#event.isCancelled = true;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
