import { ANSWER_MS } from '../redis/connection.js';
import type { Session } from '../session.js';
import { NONE, type Busy, type Known } from './known.js';
import type { Waiter } from './waiter.js';

/** The attempts of one queue, one at a time, and the last answer. */
export class Attempts {
  /** A script for this waiter is on its way. The waiter may have left meanwhile. */
  waiter: Waiter | undefined = undefined;
  /** Another attempt must follow the one that is on its way. */
  mustRepeat = false;
  /** The number of the last attempt. */
  count = 0;
  last: Known = NONE;
  private askedAt = 0;
  /** The connection's `sendCount` at the last attempt. While it stays the same, that is not sent yet. */
  private sendCountAtAsk: number | undefined = undefined;

  constructor(private readonly session: Session) {}

  /** The last answer. `NONE` once a newer attempt has no answer for `ANSWER_MS`. */
  get known(): Known {
    const isOwed = this.waiter !== undefined && this.session.clock.now() - this.askedAt > ANSWER_MS;
    return isOwed ? NONE : this.last;
  }

  /** The number of the first attempt whose answer serves a caller that comes now. */
  get next(): number {
    const { sendCount } = this.session.connection;
    const isUnsent = sendCount !== undefined && this.sendCountAtAsk === sendCount;
    return isUnsent ? this.count : this.count + 1;
  }

  /** The waiter sends the next attempt now. Returns its number. */
  begin(waiter: Waiter): number {
    this.expect(waiter);
    this.sendCountAtAsk = this.session.connection.sendCount;
    return ++this.count;
  }

  /** A script for the waiter is sent now: its attempt, or the release that names it. */
  expect(waiter: Waiter): void {
    this.waiter = waiter;
    this.askedAt = this.session.clock.now();
    this.mustRepeat = false;
  }

  /** The waiter has sent the first attempt, before there was a queue. */
  adopt(waiter: Waiter): void {
    this.waiter = waiter;
    this.askedAt = waiter.startedAt;
    this.sendCountAtAsk = waiter.sendCountAtAsk;
    this.count = 1;
    waiter.since = 1;
  }

  /** Redis has answered, or will not answer. */
  end(waiter: Waiter): void {
    if (this.waiter === waiter) this.waiter = undefined;
  }

  /** Its answer may never come. If it does, it counts only as a grant. */
  giveUp(): void {
    this.waiter = undefined;
  }

  /** Others hold it for this time. */
  setBusy(remainingMs: number, blockedBy: Busy['blockedBy'] = 'other'): void {
    this.last = { kind: 'busy', until: this.session.clock.now() + remainingMs, blockedBy };
  }
}
