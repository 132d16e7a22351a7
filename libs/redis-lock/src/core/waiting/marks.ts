import { Moment, type TimerHeap } from '../time/timer-heap.js';
import { ByKey } from './by-key.js';

/** Ids that are marked for a time each. */
export class Marks {
  private readonly moments = new ByKey<Moment>();

  /** @param onOver is called with an id when its time is over */
  constructor(
    private readonly times: TimerHeap,
    private readonly onOver?: (id: string) => void,
  ) {}

  has(id: string): boolean {
    return this.moments.get(id) !== undefined;
  }

  /** Marks the id from now on, in place of an earlier mark. */
  set(id: string, forMs: number): void {
    let moment = this.moments.get(id);
    if (moment === undefined) {
      moment = new Moment(() => {
        this.moments.delete(id);
        this.onOver?.(id);
      });
      this.moments.add(id, moment);
    }
    this.times.set(moment, this.times.clock.now() + forMs);
  }

  /** Marks that are set are not ended any more. */
  close(): void {
    for (const moment of this.moments.values()) this.times.delete(moment);
  }
}
