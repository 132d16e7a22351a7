import { isSetBy, type Busy } from './known.js';
import type { Waiter } from './waiter.js';

/** The local waiters of one key, in the order of arrival. Each is a link of the list. */
export class WaiterList {
  first: Waiter | undefined = undefined;
  size = 0;
  /** The number of single attempts (`waitTimeMs: 0`) among them. */
  private onceCount = 0;
  private last: Waiter | undefined = undefined;

  /** The number of waiters, without single attempts. */
  get waiting(): number {
    return this.size - this.onceCount;
  }

  /** The first that is no single attempt. */
  get firstToWait(): Waiter | undefined {
    let waiter = this.first;
    while (waiter?.once === true) waiter = waiter.next;
    return waiter;
  }

  /** The first that sets the number of permits. */
  get firstToSet(): Waiter | undefined {
    let waiter = this.first;
    while (waiter !== undefined && waiter.asker.capacity === undefined) waiter = waiter.next;
    return waiter;
  }

  add(waiter: Waiter): void {
    waiter.isQueued = true;
    waiter.previous = this.last;
    if (this.last === undefined) this.first = waiter;
    else this.last.next = waiter;
    this.last = waiter;
    this.size += 1;
    if (waiter.once) this.onceCount += 1;
  }

  /** Returns whether it was in the list. */
  drop(waiter: Waiter): boolean {
    if (!waiter.isQueued) return false;
    waiter.isQueued = false;
    const { previous, next } = waiter;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    // A link to the next would keep all later waiters alive as long as this one, once it is old to
    // V8.
    waiter.next = undefined;
    waiter.previous = undefined;
    this.size -= 1;
    if (waiter.once) this.onceCount -= 1;
    return true;
  }

  /** Those that were here when this attempt was sent. */
  since(attempt: number): Waiter[] {
    const waiters: Waiter[] = [];
    for (let waiter = this.first; waiter !== undefined; waiter = waiter.next) {
      if (waiter.since <= attempt) waiters.push(waiter);
    }
    return waiters;
  }

  /**
   * Refuses the single attempts, which have their answer. The first waiter may have come after
   * attempt `newest`, which Redis answered. Then it needs its own attempt, and this returns `true`.
   * The single attempts behind it have a waiter ahead, which acquires the lock if it is free.
   */
  refuseOnce(answer: Busy, newest: number): boolean {
    if (this.onceCount === 0) return false;
    let isTooLate = false;
    for (const waiter of this.since(Infinity)) {
      if (!waiter.once) continue;
      const isNewer = waiter === this.first && waiter.since > newest;
      if (isNewer || isSetBy(answer, waiter.asker)) {
        isTooLate = true;
        continue;
      }
      this.drop(waiter);
      waiter.refuse(answer);
    }
    return isTooLate;
  }
}
