import type { ProcessFate } from './fleet.js';
import type { Section } from './history.js';
import type { Entry } from './journal.js';

/** A third party took a lock from whoever had it; `*` is all of them, and whoever that was. */
export interface Taking {
  kind: 'taken';
  lock: string;
  owner: string;
  /** Somewhere in between. */
  atUs: number;
  untilUs: number;
  /** Of the server's clock, when all was lost: later tokens, which have its time in them, are larger. */
  largestToken?: number;
}

/** Redis had no such key whenever somebody looked. */
export interface FreeTime {
  kind: 'free';
  lock: string;
  atUs: number;
  untilUs: number;
  /** How much of that somebody really looked. */
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
  /** What its caller was told in the end, and when. */
  outcome: string | undefined;
  outcomeUs: number;
}

/** Somebody waited for the lock, whether it was granted in the end or not. */
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

  /** Who was killed inside had the lock until then, or until the end of its lease. */
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
    // Of several locks as one, nobody knows from when on it was this one that was waited for.
    if (owner.includes(',')) return;
    this.waits.push({ process, lock, fromUs: waitedFromUs, untilUs: grantedUs });
  }
}
