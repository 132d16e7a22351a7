import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

import { nowUs } from './history.js';
import type { Recorder, Visit } from './visit.js';

interface Entered {
  kind: 'entered';
  atUs: number;
  lock: string;
  owner: string;
  /** 0 without one. */
  token: number;
  waitedFromUs: number;
  grantedUs: number;
  /** Up to when the lease was granted, as far as the holder knew when it entered. */
  validUntilUs: number;
}

/** A process saw this of its own callers. */
export type Entry =
  | Entered
  /** At the last moment at which the section held the lock for sure. */
  | { kind: 'left'; atUs: number; owner: string }
  | { kind: 'ended'; atUs: number; owner: string; outcome: string }
  | { kind: 'refused'; atUs: number; lock: string; waitedFromUs: number; outcome: string }
  | { kind: 'violated'; atUs: number; text: string; owner?: string | undefined }
  /** A release was reported to have gone well although Redis no longer knew the owner. */
  | { kind: 'released-unknown'; atUs: number; lock: string };

/**
 * A history in a file, line by line as it happens: nothing is lost when the process is killed, and
 * what is to be told of a section is there before the lock is released.
 */
export class Journal implements Recorder {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  entered({ lock, lease, waitedFromUs, grantedUs, startUs }: Visit): void {
    const { owner, fencingToken: token = 0 } = lease;
    const validUntilUs = nowUs() + lease.remainingMs * 1_000;
    const times = { waitedFromUs, grantedUs, validUntilUs };
    this.#write({ kind: 'entered', atUs: startUs, lock, owner, token, ...times });
  }

  left({ lease: { owner }, heldUntilUs: atUs }: Visit): void {
    this.#write({ kind: 'left', atUs, owner });
  }

  ended({ lease: { owner } }: Visit, outcome: string): void {
    this.#write({ kind: 'ended', atUs: nowUs(), owner, outcome });
  }

  refused(lock: string, waitedFromUs: number, outcome: string): void {
    this.#write({ kind: 'refused', atUs: nowUs(), lock, waitedFromUs, outcome });
  }

  violated(text: string, owner?: string): void {
    this.#write({ kind: 'violated', atUs: nowUs(), text, owner });
  }

  releasedUnknown(lock: string): void {
    this.#write({ kind: 'released-unknown', atUs: nowUs(), lock });
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(entry: Entry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}

/** The last line may be one that a kill has cut off. */
export function readJournal(path: string): Entry[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Entry);
}
