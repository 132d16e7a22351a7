import type { ProcessFate } from './fleet.js';
import type { Section } from './history.js';
import type { Entry } from './journal.js';

/** A third party took a lock from its owner; `*` is all locks, from each of their owners. */
export interface Taking {
  kind: 'taken';
  lock: string;
  owner: string;
  /** Somewhere in between. */
  atUs: number;
  untilUs: number;
  /** The server's clock when all was lost. Later tokens contain a later time, so they are larger. */
  largestToken?: number;
}

/** Redis had no such key at any look. */
export interface FreeTime {
  kind: 'free';
  lock: string;
  atUs: number;
  untilUs: number;
  /** The watch really looked for so much of that time. */
  lookedUs: number;
}

export type HistoryRecord =
  | (Entry & { process: number })
  | ProcessFate
  | Taking
  | FreeTime
  | { kind: 'fault'; atUs: number; fault: string };

/** A section, with all that became of it. */
export interface Stay extends Section {
  process: number;
  owner: string;
  waitedFromUs: number;
  grantedUs: number;
  /** Whether it was left, and not just over since its process was killed. */
  isLeft: boolean;
  /** The outcome that the caller got in the end, and when. */
  outcome: string | undefined;
  outcomeUs: number;
}

/** A caller waited for the lock, whether it was granted in the end or not. */
export interface Wait {
  process: number;
  lock: string;
  fromUs: number;
  untilUs: number;
}

type Kind = HistoryRecord['kind'];
type Of<K extends Kind> = Extract<HistoryRecord, { kind: K }>;

/** The records of all processes, and what was done to them, as a whole. */
export class ContestHistory {
  /** In the order in which they began. */
  readonly stays: Stay[] = [];
  readonly waits: Wait[] = [];
  readonly #stays = new Map<string, Stay>();

  constructor(readonly records: readonly HistoryRecord[]) {
    const killed = new Map(this.of('killed').map(({ process, atUs }) => [process, atUs]));
    for (const record of records) {
      if (record.kind === 'entered') this.#enter(record, killed);
      if (record.kind === 'refused') {
        const { process, lock, waitedFromUs: fromUs, atUs: untilUs } = record;
        this.waits.push({ process, lock, fromUs, untilUs });
      }
      const stay = 'owner' in record ? this.stayOf(record.owner) : undefined;
      if (stay === undefined) continue;
      if (record.kind === 'left') Object.assign(stay, { endUs: record.atUs, isLeft: true });
      if (record.kind === 'ended') {
        Object.assign(stay, { outcome: record.outcome, outcomeUs: record.atUs });
      }
    }
    this.stays.sort((a, b) => a.startUs - b.startUs);
  }

  of<K extends Kind>(kind: K): Of<K>[] {
    return this.records.filter((record): record is Of<K> => record.kind === kind);
  }

  /** An owner enters once. */
  stayOf(owner: string | undefined): Stay | undefined {
    return owner === undefined ? undefined : this.#stays.get(owner);
  }

  /** An owner killed inside had the lock until then, or until the end of its lease. */
  #enter(record: Of<'entered'>, killed: ReadonlyMap<number, number>): void {
    const { process, lock, owner, token, waitedFromUs, grantedUs, validUntilUs } = record;
    const startUs = record.atUs;
    const endUs = Math.max(startUs, Math.min(validUntilUs, killed.get(process) ?? startUs));
    const stay = {
      ...{ process, lock, owner, token, waitedFromUs, grantedUs, startUs, endUs },
      ...{ isLeft: false, outcome: undefined, outcomeUs: Infinity },
    };
    this.#stays.set(owner, stay);
    this.stays.push(stay);
    // The record of several locks as one does not say since when the caller waited for this one.
    if (owner.includes(',')) return;
    this.waits.push({ process, lock, fromUs: waitedFromUs, untilUs: grantedUs });
  }
}
