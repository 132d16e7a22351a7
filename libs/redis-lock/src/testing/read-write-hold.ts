import type { InProcessServer } from './in-process-server.js';
import { Held } from './lock-answers.js';

/** The holders of a read-write lock: readers, or a writer that may read as well. */
export class ReadWriteHold extends Held {
  writer: { owner: string; holdCount: number } | undefined;
  /** For each reader the end of each of its holds. */
  readonly readers = new Map<string, number[]>();

  constructor(writer?: string, holdCount = 1) {
    super();
    if (writer !== undefined) this.writer = { owner: writer, holdCount };
  }

  get holdCount(): number {
    return this.writer?.holdCount ?? 0;
  }

  set holdCount(holdCount: number) {
    if (this.writer !== undefined) this.writer.holdCount = holdCount;
  }

  isHeldBy(field: string): boolean {
    return this.writer !== undefined && field === `${this.writer.owner}:write`;
  }

  /** The end of the last lease of a live reader; dead ones are removed. */
  readUntil(now: number): number | undefined {
    let longest: number | undefined;
    for (const [reader, ends] of this.readers) {
      const until = Math.max(...ends);
      if (until <= now) this.readers.delete(reader);
      else longest = Math.max(longest ?? 0, until);
    }
    return longest;
  }
}

/** Lowers a reader to this number of holds. The last of them gets the longest of its leases. */
export function shrink(ends: number[], holdCount: number): void {
  if (ends.length <= holdCount) return;
  const until = Math.max(...ends);
  ends.length = holdCount;
  if (holdCount > 0) ends[holdCount - 1] = until;
}

/**
 * @returns the rest of the longest lease of readers (ms); without readers 0, and the lock is gone
 */
export function leaveToReaders(server: InProcessServer, lock: string, hold: ReadWriteHold): number {
  const until = hold.readUntil(server.now);
  if (until === undefined) {
    server.delete(lock);
    return 0;
  }
  hold.writer = undefined;
  hold.endsAt = until;
  return server.leftOf(hold);
}
