import { after, type Clock } from './clock.js';

/** Something with a time at which it must be looked at. Only the agenda writes these fields. */
export interface Appointment {
  dueAt: number;
  /** Where the agenda keeps it; -1 while it does not. */
  agendaIndex: number;
}

export interface AgendaKeeper<T> {
  /** It is looked at, and leaves the agenda after that unless it is entered again. */
  due(item: T): void;
  /** All that were due have been looked at. */
  allDue(): void;
}

/** The time of an item that is looked at, and must not be missing meanwhile. */
const LOOKED_AT = Number.MAX_VALUE;

/**
 * One timer for any number of appointments: a binary heap that knows where each item is, so that
 * entering, moving and striking out cost O(log n).
 */
export class Agenda<T extends Appointment> {
  readonly #heap: T[] = [];
  readonly #clock: Clock;
  readonly #keeper: AgendaKeeper<T>;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock, keeper: AgendaKeeper<T>) {
    this.#clock = clock;
    this.#keeper = keeper;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** In no order. */
  items(): T[] {
    return [...this.#heap];
  }

  set(item: T, dueAt: number): void {
    item.dueAt = dueAt;
    if (item.agendaIndex === -1) {
      item.agendaIndex = this.#heap.push(item) - 1;
    }
    this.#siftDown(this.#siftUp(item.agendaIndex));
    // A timer that is armed too early is left alone: it finds nothing due and is armed again.
    if (dueAt < this.#timerAt) this.#arm();
  }

  delete(item: T): void {
    const index = item.agendaIndex;
    if (index === -1) return;
    item.agendaIndex = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    this.#put(last, index);
    this.#siftDown(this.#siftUp(index));
  }

  clear(): void {
    for (const item of this.#heap.splice(0)) item.agendaIndex = -1;
    this.#disarm();
  }

  #fire(): void {
    // One timer for all that is entered meanwhile; what of it is due already is left to that.
    this.#timerAt = -Infinity;
    try {
      this.#lookAtDue();
    } finally {
      this.#disarm();
      this.#arm();
    }
  }

  #lookAtDue(): void {
    for (let left = this.#heap.length; left > 0; left -= 1) {
      const [first] = this.#heap;
      if (first === undefined || first.dueAt > this.#clock.now()) break;
      this.set(first, LOOKED_AT);
      this.#keeper.due(first);
      if (first.dueAt === LOOKED_AT) this.delete(first);
    }
    this.#keeper.allDue();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined || this.#timerAt <= first.dueAt) return;
    this.#disarm();
    this.#timerAt = first.dueAt;
    this.#timer = after(first.dueAt - this.#clock.now(), () => {
      this.#fire();
    });
    this.#timer?.unref();
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Infinity;
  }

  #put(item: T, index: number): void {
    this.#heap[index] = item;
    item.agendaIndex = index;
  }

  #siftUp(start: number): number {
    let index = start;
    const item = this.#heap[index];
    while (item !== undefined && index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex];
      if (parent === undefined || parent.dueAt <= item.dueAt) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    if (item !== undefined && index !== start) this.#put(item, index);
    return index;
  }

  #siftDown(start: number): void {
    let index = start;
    const item = this.#heap[index];
    while (item !== undefined) {
      let childIndex = 2 * index + 1;
      let child = this.#heap[childIndex];
      const right = this.#heap[childIndex + 1];
      if (child !== undefined && right !== undefined && right.dueAt < child.dueAt) {
        child = right;
        childIndex += 1;
      }
      if (child === undefined || item.dueAt <= child.dueAt) break;
      this.#put(child, index);
      index = childIndex;
    }
    if (item !== undefined && index !== start) this.#put(item, index);
  }
}
