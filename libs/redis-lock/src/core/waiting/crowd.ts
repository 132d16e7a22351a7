import type { AcquireAnswer, OwnerId } from '../holding/protocol.js';
import type { Known } from './known.js';

/** The queue of one owner, as its crowd calls it. */
interface OwnQueue {
  readonly id: OwnerId;
  ask(): void;
  goOn(): void;
  busy(remainingMs: number): void;
}

/** The queues of one key with a waiter each, in the order of arrival. Each is the queue of one owner. */
export class Crowd<Q extends OwnQueue> {
  /** The number of open queues, also of those without a waiter that waits. */
  open = 0;
  private readonly queues = new Map<OwnerId, Q>();

  get size(): number {
    return this.queues.size;
  }

  get first(): Q | undefined {
    return this.queues.values().next().value;
  }

  join(queue: Q): void {
    this.queues.set(queue.id, queue);
  }

  leave(queue: Q): void {
    this.queues.delete(queue.id);
  }

  /** From now on the first queue sends attempts for all. `known` is the last answer. */
  lead(known: Known, now: number): void {
    if (known.kind === 'busy') this.first?.busy(Math.max(0, known.until - now));
    else this.first?.goOn();
  }

  /**
   * The first queue has an answer, which also concerns the others. `before` is its last answer.
   * @returns owners that Redis' queue has and the crowd has not: they enter only for a waiter of it
   */
  heard({ isNew, siblings = [] }: AcquireAnswer & { kind: 'busy' }, before: Known): OwnerId[] {
    // The entry of the first was lost, so the entries of the others may be, too.
    if (isNew === true && before.kind !== 'none') {
      for (const queue of this.queues.values()) if (queue !== this.first) queue.ask();
    }
    this.queues.get(siblings[0] ?? '')?.ask();
    return siblings.filter((owner) => !this.queues.has(owner));
  }
}
