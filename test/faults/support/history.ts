import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Recorder, Visit } from './visit.js';

/** The specs keep the histories of failures here, and nowhere else. */
const FOLDER = fileURLToPath(new URL('../../../fault-histories/', import.meta.url));
/** Numbers of one section in a packed history: lock, start, end, fencing token or 0. */
const WIDTH = 4;

/** Monotonic microseconds: one clock for all processes of this machine. */
export function nowUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}

/** A worker sends this to the spec. */
export interface PackedHistory {
  locks: string[];
  sections: Float64Array;
}

/** When which critical section was entered and left, by those who were inside. */
export class History implements Recorder {
  readonly #locks = new Map<string, number>();
  readonly #numbers: number[] = [];

  add(lock: string, startUs: number, endUs: number, token = 0): void {
    let index = this.#locks.get(lock);
    if (index === undefined) this.#locks.set(lock, (index = this.#locks.size));
    this.#numbers.push(index, startUs, endUs, token);
  }

  left({ lock, startUs, heldUntilUs, lease }: Visit): void {
    this.add(lock, startUs, heldUntilUs, lease.fencingToken);
  }

  pack(): PackedHistory {
    return { locks: [...this.#locks.keys()], sections: Float64Array.from(this.#numbers) };
  }
}

export interface Section {
  lock: string;
  startUs: number;
  endUs: number;
  /** 0 without one. */
  token: number;
}

export function sectionsOf(histories: readonly PackedHistory[]): Section[] {
  return histories.flatMap(({ locks, sections }) => {
    const unpacked: Section[] = [];
    for (let i = 0; i < sections.length; i += WIDTH) {
      const [index = 0, startUs = 0, endUs = 0, token = 0] = sections.subarray(i, i + WIDTH);
      unpacked.push({ lock: locks[index] ?? '', startUs, endUs, token });
    }
    return unpacked;
  });
}

/** Every section that began before an earlier one of the same lock had ended. */
export function overlapsIn(sections: readonly Section[]): string[] {
  const overlaps: string[] = [];
  const latest = new Map<string, Section>();
  for (const section of sections.toSorted((a, b) => a.startUs - b.startUs)) {
    const before = latest.get(section.lock);
    if (before !== undefined && section.startUs < before.endUs) {
      const byUs = Math.round(before.endUs - section.startUs);
      overlaps.push(`${section.lock} at ${String(section.startUs)} µs, for ${String(byUs)} µs`);
    }
    if (before === undefined || before.endUs < section.endUs) latest.set(section.lock, section);
  }
  return overlaps;
}

/** Every fencing token that is not larger than all before it of the same lock. */
export function staleTokensIn(sections: readonly Section[]): string[] {
  const stale: string[] = [];
  const latest = new Map<string, number>();
  for (const { lock, token, startUs } of sections.toSorted((a, b) => a.startUs - b.startUs)) {
    if (token === 0) continue;
    const before = latest.get(lock) ?? 0;
    if (token <= before) stale.push(`${lock} at ${String(startUs)} µs: ${String(token)}`);
    else latest.set(lock, token);
  }
  return stale;
}

/**
 * The events of one spec: sections, and the faults that were made. The spec writes them to a file when it
 * fails, and only then.
 */
export class Story {
  readonly #notes: { atUs: number }[] = [];
  readonly #histories: PackedHistory[] = [];

  constructor(private readonly title: string) {}

  fault(fault: string): void {
    this.note(nowUs(), { fault });
  }

  note(atUs: number, note: object): void {
    this.#notes.push({ atUs, ...note });
  }

  keep(history: PackedHistory): void {
    this.#histories.push(history);
  }

  get sections(): Section[] {
    return sectionsOf(this.#histories);
  }

  save(): string {
    mkdirSync(FOLDER, { recursive: true });
    const file = join(FOLDER, `${this.title.replace(/\W+/g, '-')}-${String(process.pid)}.jsonl`);
    const lines = [
      { seed: process.env.LOCK_SEED, title: this.title },
      ...this.#notes.toSorted((a, b) => a.atUs - b.atUs),
      ...this.sections,
    ];
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
    return file;
  }
}

/** Runs a spec that writes its story; when it fails, the error names the seed and the file. */
export async function telling(title: string, work: (story: Story) => Promise<void>): Promise<void> {
  const story = new Story(title);
  try {
    await work(story);
  } catch (error) {
    const hint = `LOCK_SEED=${String(process.env.LOCK_SEED)}, history in ${story.save()}`;
    process.stderr.write(`${title} failed: ${hint}\n`);
    if (error instanceof Object && 'message' in error)
      error.message = `${String(error.message)}\n${hint}`;
    throw error;
  }
}
