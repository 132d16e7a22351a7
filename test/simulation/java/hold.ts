import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { HeldLease } from '../referee.js';
import type { JavaObject } from './objects.js';

/** Redis counts whole milliseconds. */
const TICK_MS = 1;

/** A hold of a Java thread, as far as it can know: it ends by its lease, or with its release. */
export class JavaHold implements HeldLease {
  readonly owner: string;
  readonly fencingToken = undefined;
  isOver = false;
  #endsAt: number;
  #timer: ReturnType<SimulatedProcess['clock']['after']>;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly object: JavaObject,
    sentAt: number,
    readonly leaseMs: number,
    isWatched: boolean,
  ) {
    this.owner = object.owner;
    this.#endsAt = sentAt + leaseMs;
    if (isWatched) this.#watch();
  }

  get remainingMs(): number {
    return this.isOver ? 0 : Math.max(0, this.#endsAt - TICK_MS - this.process.clock.now());
  }

  assertHeld(): void {
    if (this.remainingMs === 0) throw new Error('a Java thread holds it no longer');
  }

  /** Redis has renewed it. An answer after its end may be about a hold that Redis has not cleared yet. */
  prolonged(sentAt: number): void {
    if (this.remainingMs === 0) return;
    this.#endsAt = Math.max(this.#endsAt, sentAt + this.leaseMs);
  }

  end(): void {
    this.isOver = true;
    this.process.clock.cancel(this.#timer);
  }

  /** The watchdog looks after each third of the lease. It tells nobody if the hold is gone. */
  #watch(): void {
    const { object, process } = this;
    this.#timer = process.clock.after(this.leaseMs / 3, () => {
      object.renew?.().then(
        ({ value, sentAt }) => {
          if (value !== 1 || this.isOver) return;
          this.prolonged(sentAt);
          this.#watch();
        },
        () => {
          if (!this.isOver) this.#watch();
        },
      );
    });
  }
}
