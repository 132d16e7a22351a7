import { outOfScope, type Clock, type Timer } from './clock.js';

/** An item of the heap with a due time. */
export interface Timed {
  /** Its place, which only the heap writes: -1 outside the heap, below -1 among the young. */
  heapIndex: number;
  /** The item is due. It leaves the heap after this call unless it was set again. */
  onDue(): void;
}

/** An item that calls back. */
export class Moment implements Timed {
  heapIndex = -1;

  constructor(readonly onDue: () => void) {}
}

/**
 * One timer for any number of items. An item is young until the timer fires, and most are deleted before:
 * they cost no comparison. The others are in a binary heap that knows the place of each, so that setting
 * and deleting one cost O(log n). The timer keeps the process alive exactly while a caller waits.
 */
export class TimerHeap {
  private readonly heap: Timed[] = [];
  /** The due times, in the same places: a comparison fetches no item from afar. */
  private readonly times: number[] = [];
  /** Items that were set since the timer fired, in no order, and their due times. */
  private readonly young: Timed[] = [];
  private readonly youngTimes: number[] = [];
  /** No young item is due earlier. */
  private youngAt = Infinity;
  /** The item that is looked at, unless it was set again meanwhile. */
  private looked: Timed | undefined = undefined;
  private timer: Timer | undefined = undefined;
  private timerAt = Infinity;
  private waiting = 0;

  constructor(readonly clock: Clock) {}

  get size(): number {
    return this.heap.length + this.young.length;
  }

  /** In no order. */
  items(): Timed[] {
    return [...this.heap, ...this.young];
  }

  set(item: Timed, dueAt: number): void {
    const { heapIndex } = item;
    if (item === this.looked) this.looked = undefined;
    if (heapIndex >= 0) this.place(item, dueAt, heapIndex);
    else this.putYoung(item, dueAt, heapIndex === -1 ? this.young.length : -2 - heapIndex);
    // A timer that is armed too early is left alone: it finds nothing due and is armed again.
    if (dueAt < this.timerAt) this.arm();
  }

  delete(item: Timed): void {
    const index = item.heapIndex;
    if (index === -1) return;
    item.heapIndex = -1;
    const isYoung = index < 0;
    const last = isYoung ? this.young.pop() : this.heap.pop();
    const dueAt = isYoung ? this.youngTimes.pop() : this.times.pop();
    if (last === undefined || dueAt === undefined || last === item) return;
    if (isYoung) this.putYoung(last, dueAt, -2 - index);
    else this.place(last, dueAt, index);
  }

  clear(): void {
    for (const item of this.items()) item.heapIndex = -1;
    for (const list of [this.heap, this.times, this.young, this.youngTimes]) list.length = 0;
    this.youngAt = Infinity;
    this.disarm();
  }

  /** A caller waits: the timer keeps the process alive until `endWait`. */
  beginWait(): void {
    this.waiting += 1;
    if (this.waiting === 1) this.timer?.ref();
  }

  endWait(): void {
    this.waiting -= 1;
    if (this.waiting === 0) this.timer?.unref();
  }

  private fire(): void {
    // One timer for all items that callbacks set; those that are due already wait for it.
    this.timerAt = -Infinity;
    try {
      this.sortYoung();
      this.lookAtDue();
    } finally {
      this.disarm();
      this.arm();
    }
  }

  private sortYoung(): void {
    this.youngAt = Infinity;
    const times = this.youngTimes.splice(0);
    for (const [i, item] of this.young.splice(0).entries()) {
      const dueAt = times[i] ?? 0;
      this.put(item, dueAt, this.rise(dueAt, this.heap.length));
    }
  }

  private lookAtDue(): void {
    for (let left = this.heap.length; left > 0; left -= 1) {
      const [first] = this.heap;
      if (first === undefined || this.timeAt(0) > this.clock.now()) break;
      // The item keeps its place: its callback must not find it missing.
      this.looked = first;
      try {
        first.onDue();
      } finally {
        if (this.looked === first) this.delete(first);
        this.looked = undefined;
      }
    }
  }

  private arm(): void {
    const dueAt = Math.min(this.timeAt(0), this.youngAt);
    if (this.timerAt <= dueAt) return;
    this.disarm();
    this.timerAt = dueAt;
    this.timer = outOfScope(() =>
      this.clock.after(dueAt - this.clock.now(), () => {
        this.fire();
      }),
    );
    if (this.waiting === 0) this.timer?.unref();
  }

  private disarm(): void {
    this.clock.cancel(this.timer);
    this.timer = undefined;
    this.timerAt = Infinity;
  }

  /** `Infinity` behind the last item. */
  private timeAt(index: number): number {
    return this.times[index] ?? Infinity;
  }

  /** Puts an item into its place, up or down from a free place or its own. */
  private place(item: Timed, dueAt: number, free: number): void {
    const index = this.rise(dueAt, free);
    this.put(item, dueAt, index === free ? this.sink(dueAt, free) : index);
  }

  /** Moves later items down; answers the free place. */
  private rise(dueAt: number, free: number): number {
    let index = free;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.timeAt(parent) <= dueAt) break;
      this.move(parent, index);
      index = parent;
    }
    return index;
  }

  /** Moves earlier items up; answers the free place. */
  private sink(dueAt: number, free: number): number {
    let index = free;
    for (let left = 2 * index + 1; left < this.heap.length; left = 2 * index + 1) {
      const child = this.timeAt(left + 1) < this.timeAt(left) ? left + 1 : left;
      if (this.timeAt(child) >= dueAt) break;
      this.move(child, index);
      index = child;
    }
    return index;
  }

  private move(from: number, to: number): void {
    const item = this.heap[from];
    if (item !== undefined) this.put(item, this.timeAt(from), to);
  }

  private putYoung(item: Timed, dueAt: number, index: number): void {
    this.young[index] = item;
    this.youngTimes[index] = dueAt;
    item.heapIndex = -2 - index;
    if (dueAt < this.youngAt) this.youngAt = dueAt;
  }

  private put(item: Timed, dueAt: number, index: number): void {
    this.heap[index] = item;
    this.times[index] = dueAt;
    item.heapIndex = index;
  }
}
