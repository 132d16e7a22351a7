import { LockBackendError } from '../../core/api/errors.js';
import type { AcquireAnswer } from '../../core/holding/protocol.js';
import type { Asker, Channels } from '../../core/holding/asker.js';
import type { LockContext } from '../../core/lock-context.js';
import type { Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, type OnceOnly } from '../../core/once-only.js';
import { channelOf } from './footprint.js';
import { ACQUIRE, CANCEL } from './counting-semaphore.scripts.js';

/**
 * One call for permits. Redis has no lease on what it may have taken, so an undecided call takes it
 * back.
 */
export class CountingRequest implements Asker {
  readonly key: string;
  readonly queueId: string;
  readonly leaseTimeMs = 0;
  readonly #marker: string;
  /** Whether an attempt was executed, or may still be. */
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
    this.key = context.keys.key(name);
    this.queueId = this.key;
    this.#marker = requests.marker(this.key);
  }

  channels(): Channels {
    return { wakeUp: channelOf(this.key) };
  }

  async ask(): Promise<Reply<AcquireAnswer>> {
    const keys = [this.key, this.#marker];
    this.#isAsking = true;
    try {
      const reply = await this.context.connection.run(ACQUIRE, keys, [this.permits, markerTtlMs]);
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
    if (!this.#mayArriveAgain) this.requests.forget(this.key, this.#marker);
  }

  /** The caller has gone without permits. */
  leave(): void {
    this.#hasLeft = true;
    if (!this.#isAsking && (this.#hasTaken || this.#mayArriveAgain)) void this.cancel();
  }

  async cancel(): Promise<void> {
    if (this.#isUndone) return;
    this.#isUndone = true;
    const keys = [this.key, this.#marker];
    const args = [markerTtlMs, channelOf(this.key)];
    await this.requests.undo(this.name, () => this.context.connection.run(CANCEL, keys, args));
  }
}
