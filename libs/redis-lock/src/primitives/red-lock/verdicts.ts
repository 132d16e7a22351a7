import type {
  AcquireAnswer,
  Holder,
  Inspection,
  ReleaseAnswer,
} from '../../core/holding/protocol.js';
import type { Ballot } from './ballot.js';

/**
 * The verdict on the answers of the nodes. Each function returns undefined while further answers
 * may change it. It throws when too few nodes answer.
 */

export type Vote = AcquireAnswer;
type Grants = readonly (AcquireAnswer & { kind: 'granted' })[];

export type AcquireVerdict =
  /** The votes so far; more may come. */
  | { readonly kind: 'granted'; readonly votes: Grants }
  | { readonly kind: 'lost' }
  /** Other owners hold it. */
  | { readonly kind: 'busy'; readonly remainingMs: number }
  /**
   * Some votes are for this owner and some are not. Other owners try at the same time, or too few
   * nodes are free.
   */
  | { readonly kind: 'split' };

export function acquireVerdict(poll: Ballot<Vote>): AcquireVerdict | undefined {
  const { values, quorum } = poll;
  const votes = values.filter((vote) => vote.kind === 'granted');
  if (votes.length >= quorum) return { kind: 'granted', votes };
  if (poll.failures > poll.minority) throw poll.error();

  const busy = values.filter((vote) => vote.kind === 'busy');
  // A quorum of refusals and no vote for it: the remaining answers would change nothing.
  const isDecided = poll.isComplete || (votes.length === 0 && busy.length >= quorum);
  if (!isDecided) return undefined;
  if (votes.length > 0) return { kind: 'split' };
  return { kind: 'busy', remainingMs: timeUntilFree(busy, quorum) };
}

/** A nested acquire finds the owner in place. A node without it has lost the lock. */
export function nestedAcquireVerdict(poll: Ballot<Vote>): AcquireVerdict | undefined {
  const votes = poll.values.filter((vote) => vote.kind === 'granted');
  if (votes.length >= poll.quorum) return { kind: 'granted', votes };
  if (poll.values.length - votes.length > poll.minority) return { kind: 'lost' };
  if (poll.isComplete || poll.failures > poll.minority) throw poll.error();
  return undefined;
}

/** The time (ms) until enough nodes are free for a quorum. */
function timeUntilFree(busy: readonly { readonly remainingMs: number }[], quorum: number): number {
  const times = busy.map(({ remainingMs }) => remainingMs).sort(ascending);
  return times[Math.min(quorum, times.length) - 1] ?? 0;
}

/** Two leases without an end are equal: Infinity - Infinity is NaN. */
function ascending(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

/** `uncertain`: the lock is released now, but the owner may not have held it before. */
export type ReleaseVerdict = ReleaseAnswer | 'uncertain';

export function releaseVerdict(
  poll: Ballot<ReleaseVerdict>,
  isLast: boolean,
): ReleaseVerdict | undefined {
  const { quorum, minority } = poll;
  if (poll.count((answer) => answer === 'done') >= quorum) return 'done';
  if (poll.count((answer) => answer === 'absent') > minority) return 'absent';
  if (poll.failures > minority) throw poll.error();
  if (!poll.isComplete) return undefined;
  const freed = poll.count((answer) => answer === 'done' || answer === 'unannounced');
  if (freed >= quorum) return 'unannounced';
  if (isLast) return 'uncertain';
  throw poll.error();
}

/** One lock of a batch: true if held, false if lost, undefined while both are possible. */
export function renewalVerdict(
  poll: Ballot<readonly boolean[]>,
  lock: number,
): boolean | undefined {
  if (poll.count((answers) => answers[lock] === true) >= poll.quorum) return true;
  if (poll.count((answers) => answers[lock] !== true) > poll.minority) return false;
  return undefined;
}

/** An owner counts if it has a quorum, or may have one with the nodes that do not answer. */
export function inspectionVerdict(poll: Ballot<Inspection>): Inspection | undefined {
  if (poll.failures > poll.minority) throw poll.error();
  if (!poll.isComplete) return undefined;
  const needed = Math.max(1, poll.quorum - poll.failures);
  const seen = new Map<string, { times: number[]; holder: Holder }>();
  for (const { holders, remainingMs } of poll.values) {
    for (const holder of holders) {
      const { times = [] } = seen.get(holder.owner) ?? {};
      seen.set(holder.owner, { times: [...times, remainingMs], holder });
    }
  }
  const holders: Holder[] = [];
  let longestMs = 0;
  for (const { times, holder } of seen.values()) {
    // Its lease ends on the node that makes the quorum.
    const remainingMs = times.sort(ascending).at(-needed);
    if (remainingMs === undefined) continue;
    holders.push(holder);
    longestMs = Math.max(longestMs, remainingMs);
  }
  return { holders, remainingMs: longestMs };
}
