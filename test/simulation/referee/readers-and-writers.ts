import type { Facts } from './facts.js';
import { of, ON_ITS_WAY_MS, type Asked, type Stay } from './promises.js';

/** As long as readers wait behind writers that do not acquire either. */
const PATIENCE_MS = 5_000;

/** Readers and writers of one lock take turns. */
export class ReadersAndWriters {
  /** By key, when a writer was granted the lock last, and when one left it. */
  readonly #writes = new Map<string, { begun: number; ended: number }>();
  /** By key, since when some writer waits. */
  readonly #awaitedSince = new Map<string, number>();
  /** By key, when a writer left without a lease. The lock may have been handed over to it. */
  readonly #leftAt = new Map<string, number>();

  constructor(private readonly facts: Facts) {}

  asked({ key, inOrder, isNested, waitTimeMs }: Asked): void {
    if (!inOrder || isNested || waitTimeMs === 0) return;
    if (!this.#writersOn(key).length) this.#awaitedSince.set(key, this.facts.now);
  }

  refused({ key, inOrder, waitTimeMs }: Asked): void {
    if (inOrder && waitTimeMs > 0) this.#leftAt.set(key, this.facts.now);
  }

  granted(stay: Stay): void {
    // Java services know nothing of turns, and a turn follows their writes, too.
    if (stay.isNested || !this.facts.rules.isOfTwoSides || this.facts.rules.java) return;
    const { key } = stay;
    const writes = this.#writes.get(key) ?? { begun: -Infinity, ended: -Infinity };
    this.#writes.set(key, writes);
    if (!isWriter(stay)) this.#checkReader(stay, writes);
    else {
      this.#checkWriter(stay, writes);
      writes.begun = this.facts.now;
    }
  }

  left(stay: Stay): void {
    const writes = this.#writes.get(stay.key);
    // A nested one may outlive the others.
    if (writes !== undefined && isWriter(stay)) writes.ended = this.facts.now;
  }

  /** Readers that wait go before the next writer. */
  #checkWriter(stay: Stay, { begun, ended }: { begun: number; ended: number }): void {
    const { facts } = this;
    for (const reader of facts.waiting) {
      if (reader.key !== stay.key || reader.inOrder || reader.isNested || reader.waitTimeMs === 0)
        continue;
      // It was there while the last writer wrote.
      if (reader.process.isStill || reader.at + ON_ITS_WAY_MS > Math.min(begun, ended)) continue;
      if (!facts.isQuiet(facts.now - reader.at)) continue;
      this.#broken(`${of(stay)} writes again before ${of(reader)} reads`, stay);
    }
  }

  /** While a writer waits, no new reader begins, until the writers' turn is over. */
  #checkReader(stay: Stay, { begun, ended }: { begun: number; ended: number }): void {
    const { facts } = this;
    const { key, at } = stay;
    const since = this.#awaitedSince.get(key) ?? facts.now;
    const leftAt = this.#leftAt.get(key) ?? -Infinity;
    // Its turn comes after a write, which ends when Redis knows.
    const isAfterWrite =
      Math.max(begun, Math.max(ended, leftAt) + ON_ITS_WAY_MS) >= at || begun > ended;
    if (isAfterWrite || facts.now - since > PATIENCE_MS - 1_000) return;
    // The lease of a writer is over, and its caller does not know.
    if ([...facts.on(key)].some(isWriter)) return;
    for (const writer of this.#writersOn(key)) {
      if (writer.process.isStill || writer.at + 2 * ON_ITS_WAY_MS > at) continue;
      if (!facts.isQuiet(facts.now - writer.at)) continue;
      this.#broken(`${of(stay)} reads before ${of(writer)} writes`, stay);
    }
  }

  #writersOn(key: string): Asked[] {
    return [...this.facts.waiting].filter(
      (one) => one.key === key && one.inOrder && !one.isNested && one.waitTimeMs > 0,
    );
  }

  #broken(text: string, { key }: Stay): void {
    this.facts.broken('order of readers and writers', `${key}: ${text}`);
  }
}

function isWriter({ inOrder }: Stay): boolean {
  return inOrder;
}
