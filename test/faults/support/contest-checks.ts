import type { ContestHistory, Stay, Taking } from './contest-history.js';
import { overlapsIn, staleTokensIn, type Section } from './history.js';
import { idleTimesIn, type IdleLimits } from './idle-times.js';

/** A grant without a token may be one from before the loss of all data for so long: for its lease. */
const ON_ITS_WAY_US = 1_000_000;

export interface Limits extends IdleLimits {
  /** For how long Redis promises a lock at a time. */
  readonly leaseMs: number;
}

/** Everything that must not be in a history, in words. */
export function findingsIn(history: ContestHistory, limits: Limits): string[] {
  const takings = new Takings(history.of('taken'));
  const sections = history.stays.flatMap((stay) => undisputed(stay, takings, limits));
  return [
    ...overlapsIn(sections).map((overlap) => `overlap: ${overlap}`),
    ...staleTokensIn(sections).map((token) => `token that does not rise: ${token}`),
    ...violationsIn(history, takings),
    ...unnoticedLossesIn(history, takings),
    ...idleTimesIn(history, limits),
  ];
}

/** The takings of third parties, by the owner that lost the lock. */
class Takings {
  readonly #byOwner = new Map<string, Taking[]>();

  constructor(takings: readonly Taking[]) {
    for (const taking of takings) {
      const others = this.#byOwner.get(taking.owner);
      if (others === undefined) this.#byOwner.set(taking.owner, [taking]);
      else others.push(taking);
    }
  }

  from(stay: Stay): Taking[] {
    const { owner, lock, token, grantedUs, endUs } = stay;
    const everything = this.#of('*').filter(({ atUs, untilUs, largestToken = 0 }) => {
      const wasBefore = token > 0 ? token <= largestToken : grantedUs <= untilUs + ON_ITS_WAY_US;
      return wasBefore && endUs >= atUs;
    });
    const own = this.byName(owner).filter((taking) => taking.lock === lock);
    return [...everything, ...own];
  }

  /** The lease of several locks as one has several owners. */
  byName(owner: string): Taking[] {
    return owner.split(',').flatMap((one) => this.#of(one));
  }

  /** Everything that was lost within the last moments. */
  lately(atUs: number): Taking[] {
    return this.#of('*').filter(
      (taking) => taking.atUs <= atUs && atUs <= taking.untilUs + ON_ITS_WAY_US,
    );
  }

  #of(owner: string): Taking[] {
    return this.#byOwner.get(owner) ?? [];
  }
}

/**
 * The times in which no other owner may have been let in. A third party may have ended them, or prevented
 * them. An owner whose lock was taken can be sure for no longer than the last promise lasts. An owner
 * that is still sure then was promised the lock anew, and no other owner may be inside.
 */
function undisputed(stay: Stay, takings: Takings, { leaseMs }: Limits): Section[] {
  const taken = takings.from(stay);
  if (taken.length === 0) return [stay];
  const takenUs = Math.min(...taken.map(({ atUs }) => atUs));
  const sureUs = Math.max(...taken.map(({ untilUs }) => untilUs)) + leaseMs * 1_000;
  const before = { ...stay, endUs: Math.min(stay.endUs, takenUs) };
  const after = { ...stay, startUs: Math.max(stay.startUs, sureUs), token: 0 };
  return [before, after].filter(({ startUs, endUs }) => startUs <= endUs);
}

/** Callers saw these violations themselves. A caller does not know of a taking before it gets the error. */
function violationsIn(history: ContestHistory, takings: Takings): string[] {
  return history
    .of('violated')
    .filter(({ owner, atUs }) => {
      if (owner === undefined) return true;
      const stay = history.stayOf(owner);
      // The owner may have looked after its section, and before it learned of the loss.
      const until = stay && { ...stay, endUs: Math.max(stay.endUs, atUs) };
      const taken = until === undefined ? takings.lately(atUs) : takings.from(until);
      return ![...taken, ...takings.byName(owner)].some((taking) => taking.atUs <= atUs);
    })
    .map(({ text, atUs }) => `${text}, at ${String(atUs)} µs`);
}

/** An owner that loses the lock in a section has to learn it, at its release at the latest. */
function unnoticedLossesIn(history: ContestHistory, takings: Takings): string[] {
  const unknown = history.of('released-unknown');
  const mayBeReleased = ({ process, lock, endUs, outcomeUs }: Stay) =>
    unknown.some(
      (one) =>
        one.process === process && one.lock === lock && endUs <= one.atUs && one.atUs <= outcomeUs,
    );
  return history.stays
    .filter((stay) => stay.isLeft && stay.outcome === 'released')
    .filter(({ startUs, endUs, ...stay }) =>
      takings
        .from({ startUs, endUs, ...stay })
        .some(({ atUs, untilUs }) => startUs < atUs && untilUs < endUs),
    )
    .filter((stay) => !mayBeReleased(stay))
    .map(({ lock, startUs }) => `loss that was not told: ${lock} at ${String(startUs)} µs`);
}
