import type { LockEvent, LockObserver } from '../../../libs/redis-lock/src/core/api/observer.js';
import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { Facts } from './facts.js';

/** Each hold ends with `released` or `lost`, once. */
export class Events {
  readonly #open = new Map<SimulatedProcess, number>();

  constructor(private readonly facts: Facts) {}

  of(process: SimulatedProcess): LockObserver {
    this.#open.set(process, 0);
    return {
      observe: (event) => {
        const open = (this.#open.get(process) ?? 0) + changeBy(event);
        this.#open.set(process, open);
        if (open < 0) this.facts.broken('events', `${process.name} ends a hold twice`);
      },
    };
  }

  /** It holds nothing any more. */
  closed(process: SimulatedProcess): void {
    const open = this.#open.get(process) ?? 0;
    if (open > 0)
      this.facts.broken('events', `${process.name} told no end of ${String(open)} holds`);
  }
}

function changeBy(event: LockEvent): number {
  if (event.type === 'acquired') return event.holdCount === 1 ? 1 : 0;
  return event.type === 'released' || event.type === 'lost' ? -1 : 0;
}
