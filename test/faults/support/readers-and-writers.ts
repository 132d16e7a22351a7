import type { Redis } from 'ioredis';
import type { Lease, ReadWriteLockService } from 'nestjs-redis-lock';

import type { Random } from '../../support/random.js';
import { nowUs } from './history.js';
import { pack, type PackedVisits, type Visit } from './read-write-history.js';

export interface ReadWriteWork {
  locks: number;
  callers: number;
  /** Sections of all callers together; the last ones to finish may exceed it by a few. */
  sections: number;
  /** The part of the sections that reads. */
  reads: number;
  /** The part of the writes that goes on reading. */
  downgrades: number;
}

export interface ReadWriteReport {
  visits: PackedVisits;
  sections: number;
  /** Increments of each lock's unguarded counter. */
  increments: number[];
  /** The violations, in words. */
  violations: string[];
}

const WAIT = { waitTimeMs: 100_000 };
/** Parties of one process are told apart by the rest. */
const PARTIES = 1e6;

/** Callers of one application that read and write, and record when they were inside. */
export class ReadersAndWriters {
  readonly #visits: Visit[] = [];
  readonly #report: Omit<ReadWriteReport, 'visits'>;
  #lastParty: number;

  constructor(
    private readonly place: { locks: ReadWriteLockService; referee: Redis; process: number },
    private readonly work: ReadWriteWork,
    private readonly random: Random,
  ) {
    this.#lastParty = place.process * PARTIES;
    const increments = Array.from({ length: work.locks }, () => 0);
    this.#report = { sections: 0, increments, violations: [] };
  }

  async run(): Promise<ReadWriteReport> {
    const callers = Array.from({ length: this.work.callers }, (_, i) =>
      this.#caller(this.random.fork(i)),
    );
    await Promise.all(callers);
    return { ...this.#report, visits: pack(this.#visits) };
  }

  async #caller(random: Random): Promise<void> {
    const { locks, sections, reads, downgrades } = this.work;
    while (this.#report.sections < sections) {
      this.#report.sections += 1;
      const lock = random.int(0, locks - 1);
      try {
        if (random.chance(reads)) await this.#read(lock);
        else await this.#write(lock, random.chance(downgrades));
      } catch (error) {
        this.#report.violations.push(String(error));
      }
    }
  }

  async #read(lock: number): Promise<void> {
    const { read } = this.place.locks.get(nameOf(lock));
    await read.using((lease) => this.#look(lock, lease, ++this.#lastParty), WAIT);
  }

  async #write(lock: number, goesOnReading: boolean): Promise<void> {
    const { read, write } = this.place.locks.get(nameOf(lock));
    const party = ++this.#lastParty;
    const reading = await write.using(async (lease) => {
      await this.#increment(lock, lease, party);
      return goesOnReading ? read.acquire() : undefined;
    }, WAIT);
    if (reading === undefined) return;
    try {
      await this.#look(lock, reading, party);
    } finally {
      await reading.release();
    }
  }

  /** A reader sees no change while it looks. */
  async #look(lock: number, lease: Lease, party: number): Promise<void> {
    const { referee } = this.place;
    const startUs = nowUs();
    const before = await referee.get(counterOf(lock));
    const after = await referee.get(counterOf(lock));
    lease.assertHeld();
    this.#visits.push({ lock, side: 'read', party, startUs, endUs: nowUs() });
    if (before !== after) this.#report.violations.push(`${nameOf(lock)} changed under a reader`);
  }

  /** Read, work, write: two at a time would lose an increment. */
  async #increment(lock: number, lease: Lease, party: number): Promise<void> {
    const { referee } = this.place;
    const startUs = nowUs();
    const count = Number(await referee.get(counterOf(lock)));
    lease.assertHeld();
    await referee.set(counterOf(lock), count + 1);
    lease.assertHeld();
    this.#visits.push({ lock, side: 'write', party, startUs, endUs: nowUs() });
    this.#report.increments[lock] = (this.#report.increments[lock] ?? 0) + 1;
  }
}

export function counterOf(lock: number): string {
  return `count:${String(lock)}`;
}

function nameOf(lock: number): string {
  return `price_${String(lock)}`;
}
