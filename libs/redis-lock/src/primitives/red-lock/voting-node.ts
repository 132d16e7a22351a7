import { Deadline, OVER } from '../../core/time/deadline.js';
import { LockBackendError } from '../../core/api/errors.js';
import type { OwnerId } from '../../core/holding/protocol.js';
import { outOfScope, type Timer } from '../../core/time/clock.js';
import type { TimerHeap } from '../../core/time/timer-heap.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { NodeGuard } from './node-guard.js';

/** The pause between two attempts to return a vote. */
const RETRY_MS = 1_000;
/** How long a close waits for scripts on their way. */
const CLOSING_MS = 500;
/** Debts beyond this number are not kept: the lease of such a vote ends by itself. */
export const MOST_DEBTS = 10_000;

export type Ask<R> = (connection: RedisConnection) => Promise<Reply<R>>;

/** A vote that the node may still hold for an owner that does not want it. */
interface Debt {
  readonly pay: Ask<unknown>;
  readonly until: number;
  isBeingPaid: boolean;
}

/**
 * One server of a red lock. It answers within a limit or counts as silent. While it owes an answer,
 * it receives no other request. The scripts of one owner run one after the other.
 */
export class VotingNode {
  readonly guard: NodeGuard;
  /** The end of each owner's last step. */
  readonly #steps = new Map<OwnerId, Promise<unknown>>();
  /** In the order in which they end. */
  readonly #debts = new Map<OwnerId, Debt>();
  #overdue = 0;
  /** Since then it receives nothing. */
  #silentSince = Infinity;
  #timer: Timer | undefined;
  #isPaying = false;
  #isClosed = false;

  constructor(
    readonly connection: RedisConnection,
    private readonly times: TimerHeap,
    private readonly longestLeaseMs: number,
    onKnown: () => void,
  ) {
    this.guard = new NodeGuard(connection, times.clock, longestLeaseMs, () => {
      onKnown();
      void this.#payAll();
    });
  }

  /**
   * Resolves if the server may vote now.
   * @throws {LockBackendError} not yet, or it does not answer
   * @throws {LockConfigurationError} it is no independent master
   */
  async admit(limitMs: number): Promise<void> {
    await this.#within(limitMs, () => this.guard.admit());
  }

  /**
   * Requests an answer that counts: the server may vote, and stays the same until it has answered.
   */
  vote<R>(limitMs: number, ask: Ask<R>): Promise<R> {
    return this.#within(limitMs, (isOver) => this.#counted(ask, isOver));
  }

  /**
   * As `vote`, in turn with the owner's other steps. A debt of the owner becomes its vote again.
   */
  enter<R>(owner: OwnerId, limitMs: number, ask: Ask<R>): Promise<R> {
    // A debt that arises from now on stays, even before this script is sent.
    const debt = this.#debts.get(owner);
    return this.#within(limitMs, (isOver) =>
      this.#inTurn(owner, async () => {
        const value = await this.#counted(ask, isOver);
        if (debt !== undefined && this.#debts.get(owner) === debt) this.#debts.delete(owner);
        return value;
      }),
    );
  }

  /** Requests an answer of any server, even one that may not vote. */
  ask<R>(limitMs: number, ask: Ask<R>): Promise<R> {
    return this.#within(limitMs, (isOver) => this.#plain(ask, isOver));
  }

  /** The number of votes that it may still hold for owners that do not want them. */
  get debtCount(): number {
    return this.#debts.size;
  }

  /**
   * Returns the owner's votes, also those that may still arrive. After a failure it tries again in
   * the background for as long as a lease may last.
   * @param pay outlives the call: it should refer to nothing large
   * @param since when the owner's first request was sent, if that is known
   */
  async giveBack<R>(owner: OwnerId, limitMs: number, pay: Ask<R>, since = -Infinity): Promise<R> {
    // It has received nothing of this owner, so it owes nothing.
    if (this.#silentSince < since) throw silence('none');
    const until = this.times.clock.now() + this.longestLeaseMs;
    const debt: Debt = { pay, until, isBeingPaid: false };
    this.#debts.delete(owner);
    this.#debts.set(owner, debt);
    try {
      return (await this.#within(limitMs, () => this.#pay(owner, debt))) as R;
    } catch (error) {
      const isTooMany = this.#debts.size > MOST_DEBTS;
      if (isTooMany && this.#debts.get(owner) === debt) this.#debts.delete(owner);
      this.#payLater();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.times.clock.cancel(this.#timer);
      this.guard.close();
      const steps = Promise.all(this.#steps.values());
      await new Deadline(this.times, CLOSING_MS, undefined).race(steps);
      this.#debts.clear();
    }
    await this.connection.close();
  }

  async #counted<R>(ask: Ask<R>, isOver: () => boolean): Promise<R> {
    const term = await this.guard.admit();
    if (isOver()) throw silence('none');
    const { value, resent } = await ask(this.connection);
    if (!resent && this.guard.isStill(term)) return value;
    // The answer may come from a server that has restarted and forgotten the lock.
    throw new LockBackendError('its connection broke', { retryable: true, outcome: 'unknown' });
  }

  async #plain<R>(ask: Ask<R>, isOver: () => boolean): Promise<R> {
    if (isOver()) throw silence('none');
    return (await ask(this.connection)).value;
  }

  /** @param start receives a function that returns whether it is too late to send anything */
  async #within<R>(limitMs: number, start: (isOver: () => boolean) => Promise<R>): Promise<R> {
    if (this.#overdue > 0) throw silence('none');
    const deadline = new Deadline(this.times, limitMs, undefined);
    const running = start(() => deadline.remainingMs === 0);
    const outcome = await deadline.race(running);
    if (outcome !== OVER) return outcome;
    if (this.#overdue++ === 0) this.#silentSince = this.times.clock.now();
    const onAnswer = () => {
      if (--this.#overdue > 0) return;
      this.#silentSince = Infinity;
      void this.#payAll();
    };
    running.then(onAnswer, onAnswer);
    throw silence('unknown');
  }

  #inTurn<R>(owner: OwnerId, step: () => Promise<R>): Promise<R> {
    const former = this.#steps.get(owner);
    const running = former === undefined ? step() : former.then(step);
    const end: Promise<unknown> = running
      .catch(() => undefined)
      .then(() => {
        if (this.#steps.get(owner) === end) this.#steps.delete(owner);
      });
    this.#steps.set(owner, end);
    return running;
  }

  async #pay(owner: OwnerId, debt: Debt): Promise<unknown> {
    debt.isBeingPaid = true;
    try {
      return await this.#inTurn(owner, async () => {
        if (this.#debts.get(owner) !== debt) throw silence('none');
        const { value } = await debt.pay(this.connection);
        if (this.#debts.get(owner) === debt) this.#debts.delete(owner);
        return value;
      });
    } finally {
      debt.isBeingPaid = false;
    }
  }

  /** One debt at a time: after an outage there may be many. */
  async #payAll(): Promise<void> {
    if (this.#isPaying) return;
    this.#isPaying = true;
    for (const [owner, debt] of this.#debts) {
      if (this.#isClosed) break;
      if (this.times.clock.now() >= debt.until) this.#debts.delete(owner);
      else if (this.#overdue > 0 || !this.connection.isUp) break;
      else if (!debt.isBeingPaid) await this.#pay(owner, debt).catch(() => undefined);
    }
    this.#isPaying = false;
    this.#payLater();
  }

  #payLater(): void {
    if (this.#isClosed || this.#debts.size === 0) return;
    if (this.#timer !== undefined) return;
    this.#timer = outOfScope(() =>
      this.times.clock.after(RETRY_MS, () => {
        this.#timer = undefined;
        void this.#payAll();
      }),
    );
    this.#timer?.unref();
  }
}

function silence(outcome: 'none' | 'unknown'): LockBackendError {
  return new LockBackendError('no answer in time', { retryable: true, outcome });
}
