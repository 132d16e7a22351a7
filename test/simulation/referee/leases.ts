import { LeaseLostError } from '../../../libs/redis-lock/src/core/api/errors.js';
import type { Facts } from './facts.js';
import { isHeld, MARGIN_MS, of, ON_ITS_WAY_MS, type Stay } from './promises.js';

/** The state in Redis, and of the lease, when a release began. */
export interface Leaving {
  readonly at: number;
  readonly isThere: boolean;
  readonly isValid: boolean;
  readonly remainingMs: number;
}

/** The newest write of a guarded resource: sent at `since`, and answered at `at`. */
interface Written {
  readonly token: number;
  readonly since: number;
  readonly at: number;
}

/** How leases begin and end. */
export class Leases {
  readonly #tokens = new Map<string, number>();
  readonly #written = new Map<string, Written>();
  readonly #runs = new Map<string, number>();
  /** By key, the end of `minHoldMs`. */
  readonly #kept = new Map<string, { readonly until: number; readonly stay: Stay }>();

  constructor(private readonly facts: Facts) {}

  /** No other owner has it before. */
  keptUntil(key: string): number {
    return this.#kept.get(key)?.until ?? -Infinity;
  }

  granted(stay: Stay): void {
    if (!isHeld(stay)) {
      this.facts.broken('valid grant', `${of(stay)} was granted and is not held`);
      return;
    }
    this.#checkKept(stay);
    this.#checkToken(stay);
  }

  look(stay: Stay): void {
    if (stay.lease.state === 'lost' && stay.signal?.aborted === false) {
      this.facts.broken('events', `${of(stay)} is lost, and its signal does not say so`);
    }
    const lateMs = this.facts.now - stay.process.suspendedMs - stay.endsBy;
    if (lateMs <= 0 || !isHeld(stay)) return;
    this.facts.broken(
      'lease ends',
      `${of(stay)} holds ${stay.key} for ${String(lateMs)} ms too long`,
    );
  }

  /** The library reports that it is lost. */
  lost(stay: Stay, reason: LeaseLostError['reason']): void {
    const { at, askedMs, leaseMs, isFixed, process } = stay;
    const { facts } = this;
    const isOver = isFixed && facts.now - at >= askedMs * 0.9 - ON_ITS_WAY_MS;
    if (isOver || facts.wasDisturbed(process, at - leaseMs)) return;
    facts.broken('reason for a loss', `${of(stay)} lost ${stay.key}: ${reason}`);
  }

  leaving(stay: Stay): Leaving {
    const { key, lease } = stay;
    const owners = lease.owner.split(',');
    const isThere = owners.every((owner) => this.facts.rules.held(key, owner) !== undefined);
    const { remainingMs } = lease;
    return { at: this.facts.now, isThere, isValid: isHeld(stay), remainingMs };
  }

  /** A release has ended, with or without an error. */
  released(stay: Stay, before: Leaving, error?: unknown): void {
    const { facts } = this;
    if (!facts.rules.isKnown) return;
    if (error === undefined) {
      if (before.isThere || !facts.rules.isCertain) return;
      // Another script of its grant may restore it before the release arrives.
      if (before.at - stay.grantedAt < ON_ITS_WAY_MS && facts.hasLostData(stay.at)) return;
      facts.broken('release', `${of(stay)} released ${stay.key}, which was lost`);
    } else if (error instanceof LeaseLostError && error.reason === 'gone') {
      const isInTime = facts.now - before.at < before.remainingMs * 0.99 - MARGIN_MS;
      const wasOurs = before.isThere && before.isValid && isInTime;
      if (!wasOurs || facts.hasLostData(stay.at)) return;
      facts.broken('release', `${of(stay)} lost ${stay.key}, which it held at its release`);
    }
  }

  /** A guarded resource has refused a write. */
  overtaken(key: string, token: number): void {
    const { facts } = this;
    if (token < (this.#tokens.get(key) ?? 0) || facts.hasLostData(0)) return;
    facts.broken('stale write refused', `${key}: ${String(token)} is the newest, and is refused`);
  }

  /** A guarded resource has accepted a write. */
  wrote(key: string, token: number, since: number): void {
    const newest = this.#written.get(key);
    if (newest !== undefined && newest.token > token && newest.at < since) {
      if (!this.facts.hasLostData(newest.since)) {
        const text = `${key}: ${String(token)} after ${String(newest.token)}`;
        this.facts.broken('stale write refused', text);
      }
    }
    if (token >= (newest?.token ?? 0)) this.#written.set(key, { token, since, at: this.facts.now });
  }

  /** A job runs for its slot, after a call at this time. */
  ran(job: string, since: number): void {
    const { facts } = this;
    const before = this.#runs.get(job);
    this.#runs.set(job, since);
    if (before === undefined || facts.hasLostData(before)) return;
    facts.broken('once in a slot', `${job} has begun ${String(facts.now - before)} ms before`);
  }

  #checkKept(stay: Stay): void {
    const { key, minHoldMs, isNested } = stay;
    const { facts } = this;
    const kept = this.#kept.get(key);
    if (kept !== undefined && facts.now < kept.until && !isNested) {
      const isExcused =
        facts.hasLostData(kept.stay.at) || facts.wasDisturbed(kept.stay.process, kept.stay.at);
      const leftMs = kept.until - facts.now;
      if (!isExcused)
        facts.broken(
          'minimum hold',
          `${of(stay)} has ${key} ${String(leftMs)} ms before the end of that of ${of(kept.stay)}`,
        );
    }
    const until = facts.now + minHoldMs * 0.99 - MARGIN_MS;
    if (minHoldMs > 0 && until > this.keptUntil(key)) this.#kept.set(key, { until, stay });
  }

  #checkToken(stay: Stay): void {
    const { key, lease, at } = stay;
    const token = lease.fencingToken;
    if (token === undefined) return;
    const largest = this.#tokens.get(key) ?? 0;
    // A counter that is lost after the clock was set back begins below.
    const since = this.facts.rules.isClockSure ? at : 0;
    if (token <= largest && !this.facts.hasLostData(since) && !stay.isNested) {
      const text = `${of(stay)} has token ${String(token)} after ${String(largest)}`;
      this.facts.broken('rising tokens', text);
    }
    this.#tokens.set(key, Math.max(token, largest));
  }
}
