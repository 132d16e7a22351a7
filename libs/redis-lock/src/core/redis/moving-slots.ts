import type { Clock } from '../time/clock.js';
import { MovingSlotError } from '../api/errors.js';
import { MOVING_MS, type RedisConnection, type Reply } from './connection.js';

/**
 * The slots of a Cluster that are moving to another node. Redis refuses scripts with several keys
 * meanwhile: the keys may be on either node, or on none.
 */
export class MovingSlots {
  readonly #until = new Map<number, number>();
  /** Outside a Cluster all keys have one place, and no slot moves. */
  readonly #hasSlots: boolean;

  constructor(
    private readonly context: { readonly connection: RedisConnection; readonly clock: Clock },
  ) {
    const { connection } = context;
    this.#hasSlots = connection.place('a').slot !== connection.place('b').slot;
  }

  /**
   * Runs a script with several keys. While their slot moves, it runs one with the first key alone.
   */
  ask<R>(key: string, together: () => Promise<Reply<R>>, alone: () => Promise<Reply<R>>) {
    if (!this.#hasSlots) return together();
    if (this.#isMoving(key)) return alone();
    return together().catch(async (error: unknown) => {
      if (!(error instanceof MovingSlotError)) throw error;
      const { connection, clock } = this.context;
      this.#until.set(connection.place(key).slot, clock.now() + MOVING_MS);
      const reply = await alone();
      // The first script may have done a part before Redis stopped it.
      return error.outcome === 'unknown' ? { ...reply, resent: true } : reply;
    });
  }

  #isMoving(key: string): boolean {
    if (this.#until.size === 0) return false;
    const { connection, clock } = this.context;
    const { slot } = connection.place(key);
    const until = this.#until.get(slot);
    if (until === undefined || clock.now() < until) return until !== undefined;
    this.#until.delete(slot);
    return false;
  }
}
