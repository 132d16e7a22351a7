import type { Clock, Timer } from './clock.js';
import { outOfScope } from '../holding/scope.js';

/** Something that must be looked at when its time comes. */
export interface Appointment {
  /** Where the agenda keeps it, which alone writes this; -1 while it does not. */
  agendaIndex: number;
}

export interface AgendaKeeper<T> {
  /** It is looked at, and leaves the agenda after that unless it is entered again. */
  due(item: T): void;
  /** All that were due have been looked at. */
  allDue(): void;
}

/**
 * One timer for any number of appointments: a binary heap that knows where each item is, so that
 * entering, moving and striking out cost O(log n).
 */
export class TimerHeap<T extends Appointment> {
  readonly #items: T[] = [];
  /** When they are due, in the same places: to compare, no item has to be fetched from afar. */
  readonly #times: number[] = [];
  /** The one that is looked at, unless it was entered again meanwhile. */
  #looked: T | undefined;
  readonly #clock: Clock;
  readonly #keeper: AgendaKeeper<T>;
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock, keeper: AgendaKeeper<T>) {
    this.#clock = clock;
    this.#keeper = keeper;
  }

  get size(): number {
    return this.#items.length;
  }

  /** In no order. */
  items(): T[] {
    return [...this.#items];
  }

  set(item: T, dueAt: number): void {
    if (item === this.#looked) this.#looked = undefined;
    const isNew = item.agendaIndex === -1;
    this.#place(item, dueAt, isNew ? this.#items.length : item.agendaIndex);
    // A timer that is armed too early is left alone: it finds nothing due and is armed again.
    if (dueAt < this.#timerAt) this.#arm();
  }

  delete(item: T): void {
    const index = item.agendaIndex;
    if (index === -1) return;
    item.agendaIndex = -1;
    const last = this.#items.pop();
    const dueAt = this.#times.pop();
    if (last === undefined || dueAt === undefined || last === item) return;
    this.#place(last, dueAt, index);
  }

  clear(): void {
    for (const item of this.#items.splice(0)) item.agendaIndex = -1;
    this.#times.length = 0;
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
    for (let left = this.#items.length; left > 0; left -= 1) {
      const [first] = this.#items;
      if (first === undefined || this.#timeAt(0) > this.#clock.now()) break;
      // It stays where it is: whoever sees to it must not find it missing.
      this.#looked = first;
      try {
        this.#keeper.due(first);
      } finally {
        if (this.#looked === first) this.delete(first);
        this.#looked = undefined;
      }
    }
    this.#keeper.allDue();
  }

  #arm(): void {
    const dueAt = this.#timeAt(0);
    if (this.#timerAt <= dueAt) return;
    this.#disarm();
    this.#timerAt = dueAt;
    this.#timer = outOfScope(() =>
      this.#clock.after(dueAt - this.#clock.now(), () => {
        this.#fire();
      }),
    );
    this.#timer?.unref();
  }

  #disarm(): void {
    this.#clock.cancel(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Infinity;
  }

  /** Of a place that nobody has, `Infinity`. */
  #timeAt(index: number): number {
    return this.#times[index] ?? Infinity;
  }

  /** Puts an item where it belongs, from a free place on, or from its own, up or down. */
  #place(item: T, dueAt: number, free: number): void {
    let index = free;
    for (let parent = (index - 1) >> 1; index > 0; parent = (index - 1) >> 1) {
      if (this.#timeAt(parent) <= dueAt) break;
      this.#move(parent, index);
      index = parent;
    }
    if (index === free) index = this.#sink(dueAt, free);
    this.#put(item, dueAt, index);
  }

  /** Moves up what is due earlier; answers which place is free then. */
  #sink(dueAt: number, free: number): number {
    let index = free;
    for (let left = 2 * index + 1; left < this.#items.length; left = 2 * index + 1) {
      const child = this.#timeAt(left + 1) < this.#timeAt(left) ? left + 1 : left;
      if (this.#timeAt(child) >= dueAt) break;
      this.#move(child, index);
      index = child;
    }
    return index;
  }

  #move(from: number, to: number): void {
    const item = this.#items[from];
    if (item !== undefined) this.#put(item, this.#timeAt(from), to);
  }

  #put(item: T, dueAt: number, index: number): void {
    this.#items[index] = item;
    this.#times[index] = dueAt;
    item.agendaIndex = index;
  }
}
