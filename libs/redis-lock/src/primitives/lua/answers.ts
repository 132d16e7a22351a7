import type { AcquireAnswer, Inspection, ReleaseAnswer } from '../../core/holding/protocol.js';
import type { Reply } from '../../core/redis/connection.js';
import type { RawReply } from '../../core/redis/script.js';

/** The answers of a script that has granted, and of one that does not find the owner. */
export const GRANTED = 1;
export const LOST = 0;

/** The tag of a refusal says why, and what follows it. */
export const REFUSED = {
  /** The waiter has joined the queue behind another owner of its process. */
  newBehindOwn: 1,
  newBehindOthers: 2,
  /** It is left to outsiders. Their window follows. */
  standsBack: 3,
  /** It is a semaphore, and its permits are not set. */
  unset: 4,
} as const;

/**
 * Lua: the answer to a refused owner. It is the rest of the lease (ms), and the window of outsiders
 * by its end and its sections.
 */
export const REFUSAL = `{left or shortestMs, untilMs and ${String(REFUSED.standsBack)}, untilMs, sections}`;

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
  const [pttl, tag = 0, next, sections = 0] = parts;
  if (typeof pttl !== 'number') return undefined;
  const remainingMs = remainingOf(pttl);
  if (tag === REFUSED.newBehindOwn)
    return { kind: 'busy', remainingMs, isNew: true, isBehindOwn: true };
  if (tag === REFUSED.newBehindOthers) return { kind: 'busy', remainingMs, isNew: true };
  if (tag === REFUSED.standsBack) {
    const window = { untilMs: Number(next), sections: Number(sections) };
    return { kind: 'busy', remainingMs, window };
  }
  if (tag === REFUSED.unset) return { kind: 'busy', remainingMs, isUnset: true };
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
  ...(['reserved', 'unannounced', 'absent'] as const),
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
