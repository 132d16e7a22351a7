import { describe, expect, it } from '@jest/globals';

import { findingsIn } from './contest-checks.js';
import { ContestHistory, type HistoryRecord } from './contest-history.js';

const LOCK = 'product_0';
const MS = 1_000;
const LIMITS = { freeMs: 500, idleMs: 2_000, leaseMs: 1_000 };

interface Forged {
  owner: string;
  process?: number;
  token?: number;
  /** In milliseconds, as all times here. */
  from: number;
  to?: number;
  waitedFrom?: number;
  validUntil?: number;
  outcome?: string;
}

/** The records of one section; without an end its process was killed. */
function section({ owner, process = 0, token = 0, from, to, ...more }: Forged): HistoryRecord[] {
  const { waitedFrom = from, validUntil = from + 1_000, outcome = 'released' } = more;
  const entered = {
    ...{ kind: 'entered' as const, process, lock: LOCK, owner, token, atUs: from * MS },
    ...{ waitedFromUs: waitedFrom * MS, grantedUs: from * MS, validUntilUs: validUntil * MS },
  };
  if (to === undefined) return [entered];
  return [
    entered,
    { kind: 'left', process, owner, atUs: to * MS },
    { kind: 'ended', process, owner, atUs: (to + 1) * MS, outcome },
  ];
}

const taken = (owner: string, at: number, until = at + 1): HistoryRecord => ({
  ...{ kind: 'taken', lock: LOCK, owner, atUs: at * MS, untilUs: until * MS },
});
const everythingLost = (at: number, until: number, largestToken = 1): HistoryRecord => ({
  ...{ kind: 'taken', lock: '*', owner: '*', atUs: at * MS, untilUs: until * MS, largestToken },
});
const killed = (process: number, at: number): HistoryRecord => ({
  ...{ kind: 'killed', process, atUs: at * MS },
});
const free = (at: number, until: number, looked = until - at): HistoryRecord => ({
  ...{ kind: 'free', lock: LOCK, atUs: at * MS, untilUs: until * MS, lookedUs: looked * MS },
});
const miscount = (owner: string, at: number): HistoryRecord => ({
  ...{ kind: 'violated', process: 0, owner, atUs: at * MS, text: '1 holds instead of 2' },
});

const findings = (...records: (HistoryRecord | HistoryRecord[])[]) =>
  findingsIn(new ContestHistory(records.flat()), LIMITS);

const A = { owner: 'a:1', process: 0, token: 1, from: 10, to: 20 };
const B = { owner: 'b:1', process: 1, token: 2, from: 30, to: 40 };

describe('findingsIn', () => {
  it('has nothing to say to one after the other', () => {
    expect(findings(section(A), section(B))).toEqual([]);
  });

  describe('of two at a time', () => {
    const early = { ...B, from: 15 };

    it('tells them', () => {
      expect(findings(section(A), section(early))).toEqual([expect.stringMatching(/^overlap/)]);
    });

    it('counts one that was killed as inside until then, or until the end of its lease', () => {
      const { to, ...dying } = { ...A, from: 10 };
      const overlap = [expect.stringMatching(/^overlap/)];
      expect(findings(section(dying), killed(0, 31), section(B))).toEqual(overlap);
      expect(findings(section(dying), killed(0, 29), section(B))).toEqual([]);
      const ending = { ...dying, validUntil: 25 };
      expect(findings(section(ending), killed(0, 31), section(B))).toEqual([]);
    });

    it('lets one in when the lock was taken from the other one, who is told', () => {
      const told = { ...A, outcome: 'LEASE_LOST' };
      expect(findings(section(told), taken('a:1', 12), section(early))).toEqual([]);
      expect(findings(section(told), everythingLost(12, 13), section(early))).toEqual([]);
      expect(
        findings(section({ ...told, token: 0 }), everythingLost(12, 13), section(early)),
      ).toEqual([]);
      // Not before, and not because something was taken from a third one.
      const overlap = [expect.stringMatching(/^overlap/)];
      expect(findings(section(told), taken('a:1', 18), section(early))).toEqual(overlap);
      expect(findings(section(told), taken('c:1', 12), section(early))).toEqual(overlap);
      // An owner that was let in after the loss is as safe as ever.
      expect(findings(section(told), everythingLost(2, 3, 0), section(early))).toEqual(overlap);
    });

    it('lets no owner be sure of what was taken for longer than the lease', () => {
      const slow = { ...A, to: 1_100, validUntil: 2_000, outcome: 'LEASE_LOST' };
      const inside = { ...B, from: 1_000, to: 1_050 };
      expect(findings(section(slow), taken('a:1', 12), section(inside))).toEqual([
        expect.stringMatching(/^overlap/),
      ]);
      expect(findings(section(slow), everythingLost(12, 13), section(inside))).toHaveLength(1);
      // It was promised it anew, and came in after the others.
      const anew = { ...slow, from: 1_060 };
      expect(findings(section(anew), taken('a:1', 12), section(inside))).toEqual([]);
      // The owner was sure until then, or no other owner was inside from then on.
      const sure = { ...slow, to: 1_010 };
      expect(findings(section(sure), taken('a:1', 12), section(inside))).toEqual([]);
      expect(findings(section(slow), taken('a:1', 12), section(early))).toEqual([]);
    });

    it('passes over a grant that was taken before its holder heard of it', () => {
      const late = { ...B, from: 12, to: 14, token: 1, outcome: 'LEASE_LOST' };
      expect(findings(section({ ...A, token: 2 }), taken('b:1', 8), section(late))).toEqual([]);
    });
  });

  it('tells a token that does not rise', () => {
    const token = [expect.stringMatching(/^token/)];
    expect(findings(section(A), section({ ...B, token: 1 }))).toEqual(token);
    expect(findings(section({ ...A, token: 3 }), section(B))).toEqual(token);
    expect(findings(section(A), section({ ...B, token: 0 }))).toEqual([]);
  });

  it('tells what callers saw, unless the lock had been taken from them', () => {
    const told = { ...A, outcome: 'LEASE_LOST' };
    expect(findings(section(told), miscount('a:1', 15))).toHaveLength(1);
    expect(findings(section(told), miscount('a:1', 15), taken('a:1', 14))).toEqual([]);
    expect(findings(section(told), miscount('a:1', 15), taken('a:1', 16))).toHaveLength(1);
    expect(findings(section(told), miscount('a:1', 15), everythingLost(13, 14))).toEqual([]);
    expect(findings(miscount('a:1', 15), everythingLost(13, 14))).toEqual([]);
    expect(findings(miscount('a:1', 1_500), everythingLost(13, 14))).toHaveLength(1);
  });

  it('tells a loss in the middle of a section that its caller did not hear of', () => {
    const untold = [expect.stringMatching(/^loss that was not told/)];
    expect(findings(section(A), taken('a:1', 15))).toEqual(untold);
    expect(findings(section(A), everythingLost(12, 15))).toEqual(untold);
    // It may have released the lock before.
    expect(findings(section(A), taken('a:1', 19, 21))).toEqual([]);
    // A client reports a release as perhaps not the first one when Redis no longer knew that.
    const unknown = { kind: 'released-unknown', process: 0, lock: LOCK, atUs: 20.5 * MS } as const;
    expect(findings(section(A), taken('a:1', 15), unknown)).toEqual([]);
    expect(findings(section(A), taken('a:1', 15), { ...unknown, process: 1 })).toEqual(untold);
  });

  describe('of a lock that no owner holds', () => {
    const waiting = { ...B, from: 1_000, to: 1_010, waitedFrom: 15 };

    it('tells how long it was free while a caller waited', () => {
      expect(findings(section(A), free(25, 995), section(waiting))).toEqual([
        `it was free for 970 ms of waiting for ${LOCK}`,
      ]);
      expect(findings(section(A), free(25, 500), section(waiting))).toEqual([]);
      // The watch did not look for most of the time.
      expect(findings(section(A), free(25, 995, 300), section(waiting))).toEqual([]);
      // No caller waited for most of the time.
      expect(findings(section(A), free(25, 995), section({ ...waiting, waitedFrom: 700 }))).toEqual(
        [],
      );
    });

    it('asks nothing of a process that stands still', () => {
      const still = { kind: 'stood-still', process: 1, atUs: 100 * MS, untilUs: 900 * MS } as const;
      expect(findings(section(A), free(25, 995), section(waiting), still)).toEqual([]);
      const another = { ...still, process: 2 };
      expect(findings(section(A), free(25, 995), section(waiting), another)).toHaveLength(1);
    });

    it('tells when a caller waited for a lock that no owner got', () => {
      const late = { ...waiting, from: 3_000, to: 3_010 };
      const idle = [`no caller got in for 2980 ms of waiting for ${LOCK}`];
      expect(findings(section(A), section(late))).toEqual(idle);
      const refused = {
        ...{ kind: 'refused' as const, process: 1, lock: LOCK, outcome: 'LOCK_TIMEOUT' },
        ...{ waitedFromUs: 15 * MS, atUs: 3_000 * MS },
      };
      expect(findings(section(A), refused)).toEqual(idle);
    });
  });
});
