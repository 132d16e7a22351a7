import type { AcquireAnswer, Inspection, ReleaseAnswer } from '../../core/holding/protocol.js';
import type { Reply } from '../../core/redis/connection.js';
import type { RawReply } from '../../core/redis/script.js';

/** The answers of a script that has granted, and of one that does not find the owner. */
export const GRANTED = 1;
export const LOST = 0;

/** Marks a refusal in a window of outsiders, for which the queue stands back. */
const STANDS_BACK = 3;

/** Marks the refusal of a semaphore whose permits are not set. */
export const UNSET = 4;

/**
 * Lua: the answer to a refused owner. It is the rest of the lease (ms), and the window of outsiders
 * by its end and its sections.
 */
export const REFUSAL = `{left or shortestMs, untilMs and ${String(STANDS_BACK)}, untilMs, sections}`;

export function acquireAnswer(raw: RawReply): AcquireAnswer | undefined {
  return raw === GRANTED ? PLAIN_GRANT : refused(raw);
}

const PLAIN_GRANT: AcquireAnswer = { kind: 'granted', fencingToken: undefined };

export function fencedAnswer(raw: RawReply): AcquireAnswer | undefined {
  if (typeof raw !== 'string') return refused(raw);
  const fencingToken = Number(raw);
  const isToken = Number.isSafeInteger(fencingToken) && fencingToken > 0;
  return isToken ? { kind: 'granted', fencingToken } : undefined;
}

function refused(raw: RawReply): AcquireAnswer | undefined {
  if (raw === LOST) return { kind: 'lost' };
  const parts = typeof raw === 'object' ? raw : [];
  const [pttl, place = 0, next, sections = 0] = parts;
  if (typeof pttl !== 'number') return undefined;
  const remainingMs = remainingOf(pttl);
  if (place === 1) return { kind: 'busy', remainingMs, isNew: true, isBehindOwn: true };
  if (place === 2) return { kind: 'busy', remainingMs, isNew: true };
  if (place === STANDS_BACK) {
    const window = { untilMs: Number(next), sections: Number(sections) };
    return { kind: 'busy', remainingMs, window };
  }
  if (place === UNSET) return { kind: 'busy', remainingMs, isUnset: true };
  if (next !== undefined)
    return { kind: 'busy', remainingMs, siblings: parts.slice(2).map(String) };
  return { kind: 'busy', remainingMs };
}

/** A key without a TTL never ends by itself. */
export function remainingOf(pttl: number): number {
  return pttl < 0 ? Infinity : pttl;
}

/** The remaining time of a lock, and then each owner with its hold count. */
export function inspection(raw: RawReply): Inspection | undefined {
  const [pttl, ...fields] = typeof raw === 'object' ? raw : [];
  if (typeof pttl !== 'number' || fields.length % 2 !== 0) return undefined;
  const owners = fields.filter((_, i) => i % 2 === 0);
  const holders = owners.map((owner, i) => ({
    owner: String(owner),
    holdCount: Number(fields[2 * i + 1]),
  }));
  return { remainingMs: remainingOf(pttl), holders };
}

/** The answer to several scripts that were one step. */
export function merged<R>(replies: readonly Omit<Reply<unknown>, 'value'>[], value: R): Reply<R> {
  return {
    value,
    sentAt: Math.min(...replies.map(({ sentAt }) => sentAt)),
    resent: replies.some(({ resent }) => resent),
  };
}

const RELEASE_ANSWERS: ReadonlySet<RawReply> = new Set<ReleaseAnswer>([
  ...(['done', 'passed', 'had', 'yielded'] as const),
  ...(['opened', 'unannounced', 'absent'] as const),
]);

/**
 * Lua: usual answers of releases use this number for `done`. The client reads it faster than a
 * text.
 */
export const DONE = 1;

export function releaseAnswer(raw: RawReply): ReleaseAnswer | undefined {
  if (raw === DONE) return 'done';
  return RELEASE_ANSWERS.has(raw) ? (raw as ReleaseAnswer) : undefined;
}
