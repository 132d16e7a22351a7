/** A process that is only busy is late by less. */
const SHORTEST_MS = 50;
/** Only the latest are kept. */
const MOST = 100;

/**
 * The times in which this process ran nothing, by the delay of its timers. Each is a lower bound:
 * it may have begun before the timer was due.
 */
export class Standstills {
  private dueAt = Infinity;
  private readonly seen: { readonly until: number; readonly ms: number }[] = [];

  /** The time of the next timer; `Infinity` without one. */
  expect(dueAt: number): void {
    this.dueAt = dueAt;
  }

  /** The process runs now. */
  look(now: number): void {
    const ms = now - this.dueAt;
    if (ms < SHORTEST_MS) return;
    if (this.seen.push({ until: now, ms }) > MOST) this.seen.shift();
    this.dueAt = now;
  }

  /** How long it stood still since that time. */
  since(time: number, now: number): number {
    this.look(now);
    let sum = 0;
    for (const { until, ms } of this.seen) sum += Math.min(ms, Math.max(0, until - time));
    return sum;
  }
}
