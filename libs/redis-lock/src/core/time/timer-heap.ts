import { outOfScope, type Clock, type Timer } from './clock.js';

/** An item of the heap with a due time. Only the heap writes its place. */
export interface Timed {
  /** -1 outside the heap, below -1 among the young, otherwise the index in the group. */
  heapIndex: number;
  group: Group | undefined;
  /** The item is due. It leaves the heap after this call unless it was set again. */
  onDue(): void;
}

/** The items that are due in one millisecond. */
export interface Group {
  readonly dueAt: number;
  readonly items: Timed[];
  /** The items before this index have left. */
  first: number;
  /** Its index in the heap. */
  index: number;
}

/** An item that calls back. */
export class Moment implements Timed {
  heapIndex = -1;
  group: Group | undefined = undefined;

  constructor(readonly onDue: () => void) {}
}

/**
 * The longest pause of the timer while there is an item. Its delay shows that the process stood
 * still.
 */
const LONGEST_PAUSE_MS = 1_000;
/** A timer that is late by less belongs to a process that is only busy. */
const SHORTEST_STANDSTILL_MS = 50;

/**
 * One timer for any number of items. An item is young until the timer fires. Most items are deleted
 * before, and cost no comparison. The others are in a binary heap of groups, one for each
 * millisecond, because many renewals are due together. The timer keeps the process alive exactly
 * while a caller waits.
 */
export class TimerHeap {
  private readonly heap: Group[] = [];
  private readonly groups = new Map<number, Group>();
  /** Items that were set since the timer fired, in no order, and their due times. */
  private readonly young: Timed[] = [];
  private readonly youngTimes: number[] = [];
  /** No young item is due earlier. */
  private youngAt = Infinity;
  /** The group whose items are being called. */
  private dueGroup: Group | undefined = undefined;
  private timer: Timer | undefined = undefined;
  private timerAt = Infinity;
  private waiting = 0;
  /** The last time in which the process ran nothing: its end, and its length at least. */
  private stoodStillUntil = -Infinity;
  private stoodStillFor = 0;

  constructor(readonly clock: Clock) {}

  /** In no order. */
  items(): Timed[] {
    const groups = this.heap.map(({ items, first }) => items.slice(first));
    return groups.concat(this.young).flat();
  }

  /** Rounds the time up to a whole millisecond, as Node's timers are. `Infinity` never comes. */
  set(item: Timed, time: number): void {
    // Even a wait without a limit needs a timer, which keeps the process alive.
    const dueAt = Math.min(Math.ceil(time), Number.MAX_VALUE);
    const { heapIndex } = item;
    if (heapIndex < 0) {
      const index = heapIndex === -1 ? this.young.length : -2 - heapIndex;
      this.young[index] = item;
      this.youngTimes[index] = dueAt;
      item.heapIndex = -2 - index;
      if (dueAt < this.youngAt) this.youngAt = dueAt;
    } else {
      this.leave(item);
      this.join(item, dueAt);
    }
    // A timer that is armed too early stays: it finds nothing due and is armed again.
    if (dueAt < this.timerAt) this.arm();
  }

  delete(item: Timed): void {
    const { heapIndex } = item;
    if (heapIndex === -1) return;
    if (heapIndex >= 0) {
      this.leave(item);
      return;
    }
    item.heapIndex = -1;
    const last = this.young.pop();
    const dueAt = this.youngTimes.pop();
    if (last === item || last === undefined || dueAt === undefined) return;
    this.young[-2 - heapIndex] = last;
    this.youngTimes[-2 - heapIndex] = dueAt;
    last.heapIndex = heapIndex;
  }

  /** Sets the item of a waiting caller. The timer keeps the process alive until `endWait`. */
  beginWait(item: Timed, time: number): void {
    this.waiting += 1;
    if (this.waiting === 1) this.timer?.ref();
    this.set(item, time);
  }

  /** Deletes the item. */
  endWait(item: Timed): void {
    this.waiting -= 1;
    if (this.waiting === 0) this.timer?.unref();
    this.delete(item);
  }

  /** How long the process stood still since that time, at least: the last time, in milliseconds. */
  stoodStillMs(since: number): number {
    this.lookAt(this.clock.now());
    return Math.min(this.stoodStillFor, Math.max(0, this.stoodStillUntil - since));
  }

  /** The process runs at this time. The delay of its timer shows whether it stood still before. */
  private lookAt(now: number): void {
    const delayMs = now - Math.max(this.timerAt, this.stoodStillUntil);
    if (delayMs < SHORTEST_STANDSTILL_MS || this.timerAt === -Infinity) return;
    this.stoodStillUntil = now;
    this.stoodStillFor = delayMs;
  }

  private fire(): void {
    this.lookAt(this.clock.now());
    // One timer for all items that callbacks set. Items that are due already wait for it.
    this.timerAt = -Infinity;
    try {
      this.sortYoung();
      this.callDue();
    } finally {
      this.dueGroup = undefined;
      this.disarm();
      this.arm();
    }
  }

  private sortYoung(): void {
    this.youngAt = Infinity;
    const times = this.youngTimes.splice(0);
    for (const [i, item] of this.young.splice(0).entries()) this.join(item, times[i] ?? 0);
  }

  private callDue(): void {
    for (let left = this.heap.length; left > 0; left -= 1) {
      const group = this.heap[0];
      if (group === undefined || group.dueAt > this.clock.now()) break;
      this.dueGroup = group;
      for (let calls = group.items.length; calls > 0; calls -= 1) this.callFirst(group);
    }
  }

  /** The item keeps its place: its callback must not find it missing. */
  private callFirst(group: Group): void {
    const { first } = group;
    const item = group.items[first];
    try {
      item?.onDue();
    } finally {
      if (item?.group === group && item.heapIndex === first) this.leave(item);
    }
  }

  private arm(): void {
    const dueAt = Math.min(this.timeAt(0), this.youngAt);
    if (this.timerAt <= dueAt) return;
    const now = this.clock.now();
    this.lookAt(now);
    this.disarm();
    this.timerAt = Math.max(now, Math.min(dueAt, now + LONGEST_PAUSE_MS));
    const pauseMs = this.timerAt - now;
    this.timer = outOfScope(() =>
      this.clock.after(pauseMs, () => {
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

  private join(item: Timed, dueAt: number): void {
    let group = this.groups.get(dueAt);
    if (group === undefined) {
      group = { dueAt, items: [], first: 0, index: this.heap.length };
      this.groups.set(dueAt, group);
      this.place(group, group.index);
    }
    item.group = group;
    item.heapIndex = group.items.push(item) - 1;
  }

  private leave(item: Timed): void {
    const { group, heapIndex } = item;
    if (group === undefined) return;
    item.heapIndex = -1;
    item.group = undefined;
    const { items } = group;
    if (group === this.dueGroup && heapIndex === group.first) {
      // The rest keeps its order.
      group.first += 1;
    } else {
      const last = items.pop();
      if (last !== item && last !== undefined) {
        items[heapIndex] = last;
        last.heapIndex = heapIndex;
      }
    }
    if (group.first === items.length) this.drop(group);
  }

  private drop(group: Group): void {
    this.groups.delete(group.dueAt);
    const last = this.heap.pop();
    if (last !== group && last !== undefined) this.place(last, group.index);
  }

  /** Puts a group into its place, up or down from a free place. */
  private place(group: Group, free: number): void {
    const { dueAt } = group;
    let index = free;
    for (let up = (index - 1) >> 1; index > 0 && this.timeAt(up) > dueAt; up = (index - 1) >> 1) {
      this.move(up, index);
      index = up;
    }
    if (index === free) index = this.sink(dueAt, free);
    this.heap[index] = group;
    group.index = index;
  }

  /** Moves earlier groups up. Returns the free place. */
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
    const group = this.heap[from];
    if (group === undefined) return;
    this.heap[to] = group;
    group.index = to;
  }

  /** `Infinity` behind the last group. */
  private timeAt(index: number): number {
    return this.heap[index]?.dueAt ?? Infinity;
  }
}
