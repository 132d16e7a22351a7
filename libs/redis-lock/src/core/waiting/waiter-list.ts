import type { Waiter } from './waiter.js';

/** The local waiters of one key in their order. Each is a link of the list itself. */
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

  /** The first that one answer does not send away. */
  get firstToWait(): Waiter | undefined {
    let waiter = this.first;
    while (waiter?.once === true) waiter = waiter.next;
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

  /** Answers whether it was there. */
  drop(waiter: Waiter): boolean {
    if (!waiter.isQueued) return false;
    waiter.isQueued = false;
    const { previous, next } = waiter;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    // V8 would keep all that came behind one that has grown old, each by the one before.
    waiter.next = undefined;
    waiter.previous = undefined;
    this.size -= 1;
    if (waiter.once) this.onceCount -= 1;
    return true;
  }

  /** Those that have been here since this attempt was sent, or before. */
  since(attempt: number): Waiter[] {
    const waiters: Waiter[] = [];
    for (let waiter = this.first; waiter !== undefined; waiter = waiter.next) {
      if (waiter.since <= attempt) waiters.push(waiter);
    }
    return waiters;
  }

  /** The single attempts among them. */
  once(): Waiter[] {
    return this.onceCount === 0 ? NOBODY : this.since(Infinity).filter(({ once }) => once);
  }
}

const NOBODY: Waiter[] = [];
