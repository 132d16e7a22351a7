import { Moment, type TimerHeap } from '../time/timer-heap.js';
import { ByKey } from './by-key.js';

/** Ids that are marked for a time each. */
export class Marks extends ByKey<Moment> {
  /** @param onOver is called with an id when its time is over */
  constructor(
    private readonly times: TimerHeap,
    private readonly onOver?: (id: string) => void,
  ) {
    super();
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  /** Marks the id from now on. Replaces an earlier mark. */
  set(id: string, forMs: number): void {
    let moment = this.get(id);
    if (moment === undefined) {
      moment = new Moment(() => {
        this.delete(id);
        this.onOver?.(id);
      });
      this.add(id, moment);
    }
    this.times.set(moment, this.times.clock.now() + forMs);
  }

  /** Marks stay from now on: no timer ends them. */
  close(): void {
    for (const moment of this.values()) this.times.delete(moment);
  }
}
