import type { Random } from './random.js';

/** Node calls back timers first, then reads what has arrived, then runs immediates. */
export const TIMER = 0;
export const ARRIVAL = 1;
export const IMMEDIATE = 2;
export type Phase = typeof TIMER | typeof ARRIVAL | typeof IMMEDIATE;

/** Does the work of events, and does none while it stands still. */
export interface Actor {
  /** In world time; `Infinity` if it is dead. */
  readonly stillUntil: number;
}

export interface Event {
  /** Later than `dueAt` while its actor stands still. */
  at: number;
  readonly dueAt: number;
  readonly phase: Phase;
  readonly number: number;
  readonly actor: Actor | undefined;
  readonly work: () => void;
  isCancelled: boolean;
}

const { setImmediate } = globalThis;
const afterMicrotasks = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Made time and one heap of events. The same random numbers make the same events in one order. */
export class World {
  /** In milliseconds. No clock of a process or a server steps it. */
  now = 0;
  /** Its event, with all that follows in its turn, happens now. */
  actor: Actor | undefined;
  readonly #heap: Event[] = [];
  #number = 0;

  /** @param turnOver resolves once nothing is left to do in the present turn of the event loop */
  constructor(
    readonly random: Random,
    private readonly turnOver: () => Promise<void> = afterMicrotasks,
  ) {}

  /** The number of events that were made. */
  get events(): number {
    return this.#number;
  }

  /** Does the work at this time, or later if its actor stands still. A dead actor does none. */
  at(time: number, work: () => void, actor?: Actor, phase: Phase = TIMER): Event {
    const dueAt = Math.max(this.now, time);
    this.#number += 1;
    const event = {
      at: dueAt,
      dueAt,
      phase,
      number: this.#number,
      actor,
      work,
      isCancelled: false,
    };
    this.#push(event);
    return event;
  }

  after(ms: number, work: () => void, actor?: Actor): Event {
    return this.at(this.now + ms, work, actor);
  }

  /** Runs events, and all that follows from each in its turn, until the condition holds. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const event = this.#pop();
      if (event === undefined) return;
      if (event.isCancelled) continue;
      const stillUntil = event.actor?.stillUntil ?? 0;
      if (stillUntil === Infinity) continue;
      if (stillUntil > event.at) {
        event.at = stillUntil;
        this.#push(event);
        continue;
      }
      this.now = event.at;
      this.actor = event.actor;
      event.work();
      await this.turnOver();
    }
  }

  /** The events of this actor that are still to come. */
  of(actor: Actor): number {
    return this.#heap.filter((event) => event.actor === actor && !event.isCancelled).length;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const up = (index - 1) >> 1;
      if (isBefore(heap[up] as Event, event)) break;
      heap[index] = heap[up] as Event;
      index = up;
    }
    heap[index] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let down = 2 * index + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && isBefore(heap[down + 1] as Event, heap[down] as Event))
        down += 1;
      if (isBefore(last, heap[down] as Event)) break;
      heap[index] = heap[down] as Event;
      index = down;
    }
    heap[index] = last;
    return first;
  }
}

/** Those that a standstill has put off keep their order. */
function isBefore(one: Event, other: Event): boolean {
  if (one.at !== other.at) return one.at < other.at;
  if (one.phase !== other.phase) return one.phase < other.phase;
  if (one.dueAt !== other.dueAt) return one.dueAt < other.dueAt;
  return one.number < other.number;
}
