import { LockBackendError } from '../../core/api/errors.js';
import type { AcquireAnswer } from '../../core/holding/protocol.js';
import { helperKey } from '../../core/redis/key-names.js';
import type { LockContext } from '../../core/lock-context.js';
import type { Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, type OnceOnly } from '../../core/once-only.js';
import { ACQUIRE, CANCEL } from './counting-semaphore.scripts.js';

/** Where an increase of the counter is announced. */
export function channelOf(counter: string): string {
  return helperKey('redisson_sc', counter);
}

/**
 * One call for permits. Nothing in Redis ends by itself what it may have taken, so whatever it leaves
 * undecided is taken back.
 */
export class CountingRequest {
  readonly #counter: string;
  readonly #marker: string;
  /** An attempt that was executed, or may be. */
  #mayArriveAgain = false;
  #isAsking = false;
  #hasLeft = false;
  #hasTaken = false;
  #isUndone = false;

  constructor(
    private readonly context: LockContext,
    private readonly requests: OnceOnly,
    private readonly name: string,
    private readonly permits: number,
  ) {
    this.#counter = context.keys.key(name);
    this.#marker = requests.marker(this.#counter);
  }

  async ask(): Promise<Reply<AcquireAnswer>> {
    const { permits } = this;
    const keys = { counter: this.#counter, marker: this.#marker };
    this.#isAsking = true;
    try {
      const reply = await this.context.connection.run(ACQUIRE, keys, { permits, markerTtlMs });
      if (reply.resent) this.#mayArriveAgain = true;
      this.#hasTaken = reply.value.kind === 'granted';
      return reply;
    } catch (error) {
      if (error instanceof LockBackendError && error.outcome === 'unknown') {
        this.#mayArriveAgain = true;
      }
      throw error;
    } finally {
      this.#isAsking = false;
      if (this.#hasLeft) this.leave();
    }
  }

  /** The caller has the permits. */
  keep(): void {
    if (!this.#mayArriveAgain) this.requests.forget(this.#counter, this.#marker);
  }

  /** The caller has gone without permits. */
  leave(): void {
    this.#hasLeft = true;
    if (!this.#isAsking && (this.#hasTaken || this.#mayArriveAgain)) void this.giveUp();
  }

  async giveUp(): Promise<void> {
    if (this.#isUndone) return;
    this.#isUndone = true;
    const keys = { counter: this.#counter, marker: this.#marker };
    const args = { markerTtlMs, channel: channelOf(this.#counter) };
    await this.requests.undo(this.name, () => this.context.connection.run(CANCEL, keys, args));
  }
}
