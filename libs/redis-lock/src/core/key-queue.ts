import { after, type Clock } from './clock.js';
import type { Contender, Departure, LastAnswer } from './contender.js';
import { LockBackendError, LockShutdownError } from './errors.js';
import type { EnterAnswer } from './hold-protocol.js';
import { PollPace } from './poll-pace.js';
import { ANSWER_MS, type RedisConnection, type Reply } from './redis-connection.js';

/** What a queue needs to know of its surroundings. */
export interface QueueSettings {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  readonly wakeUp: 'message' | 'poll';
  /** One grant says nothing about the next. */
  readonly isShared: boolean;
  /** Where a release of the key is announced. */
  readonly channel: string;
  /** Nobody waits, and no attempt is on its way any more. */
  readonly onIdle: () => void;
}

/** The local callers of one key: first come first served, and only the first is known to Redis. */
export class KeyQueue {
  /** In order, each with the first attempt that was sent during its call. */
  readonly #waiting = new Map<Contender, number>();
  /** The contender whose attempt is on its way; it may have left the queue meanwhile. */
  #asking: Contender | undefined;
  #attempts = 0;
  /** The attempt was sent in this very turn of the event loop: it is one for all who ask in it. */
  #isSending = false;
  #askAgain = false;
  #askedAt = 0;
  #last: LastAnswer = { kind: 'none' };
  #lastAt = 0;
  readonly #pace: PollPace;
  #timer: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | undefined;

  constructor(private readonly settings: QueueSettings) {
    this.#pace = new PollPace(settings.pollIntervalMs, settings.wakeUp);
  }

  enter(contender: Contender): () => Departure {
    const isFirst = this.#waiting.size === 0;
    const known = this.#known();
    if (!isFirst && contender.once && known.kind === 'busy') {
      // Others are ahead, and the lock is not free: asking Redis would tell nothing new.
      contender.settle(known);
    } else {
      this.#waiting.set(contender, this.#isSending ? this.#attempts : this.#attempts + 1);
      // The answer to one that has left may never come.
      if (isFirst && this.#asking !== undefined) this.#pollIn(this.settings.pollIntervalMs);
      else if (isFirst) this.ask();
    }
    return () => this.#leave(contender);
  }

  /** Sends the attempt of the first in the queue, unless one is on its way already. */
  ask(): void {
    const first = this.#first;
    if (first === undefined) return;
    if (this.#asking !== undefined) {
      this.#askAgain = true;
      return;
    }
    this.#pollIn(this.settings.pollIntervalMs);
    this.#asking = first;
    this.#askedAt = this.settings.clock.now();
    this.#askAgain = false;
    const attempt = ++this.#attempts;
    this.#isSending = true;
    queueMicrotask(() => (this.#isSending = false));
    first.ask().then(
      (reply) => {
        this.#onReply(first, attempt, reply);
      },
      (error: unknown) => {
        this.#onError(first, error);
      },
    );
  }

  /** Tells everybody who waits that it goes on. */
  tellWaiting(): void {
    for (const contender of this.#waiting.keys()) contender.stillWaiting(this.#known());
  }

  close(): void {
    for (const contender of [...this.#waiting.keys()]) {
      contender.fail(new LockShutdownError(contender.name));
    }
  }

  get #first(): Contender | undefined {
    const [first] = this.#waiting.keys();
    return first;
  }

  #leave(contender: Contender): Departure {
    const isAsking = this.#asking === contender;
    const last = this.#known();
    if (this.#waiting.delete(contender) && this.#waiting.size === 0) this.#rest();
    return { last, isAsking };
  }

  /** What the last answer is worth now: nothing, when Redis has owed a newer one for too long. */
  #known(): LastAnswer {
    const last = this.#last;
    const now = this.settings.clock.now();
    const isOwed = this.#asking !== undefined && now - this.#askedAt > ANSWER_MS;
    if (isOwed) return { kind: 'none' };
    if (last.kind !== 'busy') return last;
    return { kind: 'busy', remainingMs: Math.max(0, last.remainingMs - (now - this.#lastAt)) };
  }

  #remember(answer: LastAnswer): void {
    this.#last = answer;
    this.#lastAt = this.settings.clock.now();
  }

  #onReply(contender: Contender, attempt: number, reply: Reply<EnterAnswer>): void {
    const isOverridden = this.#asking !== contender;
    if (!isOverridden) this.#asking = undefined;
    const { value } = reply;
    if (value.kind === 'granted') {
      if (value.isForAll === true) this.#onGrantForAll(attempt, { ...reply, value });
      else this.#onGrant(contender, { ...reply, value });
      return;
    }
    // A newer attempt is on its way, whose answer counts.
    if (isOverridden) return;
    this.#remember({ kind: 'busy', remainingMs: value.kind === 'busy' ? value.remainingMs : 0 });
    this.#answerOnce(false);
    this.#next();
  }

  #onGrant(contender: Contender, reply: Reply<EnterAnswer & { kind: 'granted' }>): void {
    this.#pace.restart();
    if (this.#waiting.delete(contender)) {
      const { isShared } = this.settings;
      const last: LastAnswer = isShared
        ? { kind: 'none' }
        : { kind: 'busy', remainingMs: contender.leaseTimeMs };
      this.#remember(last);
      contender.settle({ kind: 'granted', reply });
      this.#answerOnce(true);
      // If a local caller has it now, its release will be heard: no use in asking before.
      this.#askAgain = isShared;
    } else {
      void contender.tooLate().then(() => {
        this.ask();
      });
    }
    this.#next();
  }

  /** Whoever came after the attempt was sent asks anew: meanwhile it may hold no more. */
  #onGrantForAll(attempt: number, reply: Reply<EnterAnswer & { kind: 'granted' }>): void {
    this.#remember({ kind: 'none' });
    for (const [contender, since] of [...this.#waiting]) {
      if (since > attempt) continue;
      this.#waiting.delete(contender);
      contender.settle({ kind: 'granted', reply });
    }
    this.#askAgain = true;
    this.#next();
  }

  #onError(contender: Contender, error: unknown): void {
    if (this.#asking === contender) this.#asking = undefined;
    const isPassing = error instanceof LockBackendError && error.retryable;
    if (isPassing) this.#remember({ kind: 'failed', error });
    if (!this.#waiting.has(contender)) {
      // Redis may have granted this attempt all the same, or one before it.
      if (contender.isUncertain) void contender.tooLate();
    } else if (!isPassing) {
      this.#waiting.delete(contender);
      contender.fail(error as Error);
      this.#askAgain = true;
    }
    this.#next();
  }

  /**
   * Whoever wanted one answer has it. Only the first in line may have come too late for an answer of
   * Redis: those behind have somebody ahead of them, who gets the lock if it is free.
   */
  #answerOnce(isOurs: boolean): void {
    if (this.#last.kind !== 'busy') return;
    for (const [contender, since] of [...this.#waiting]) {
      if (!contender.once) continue;
      if (!isOurs && since > this.#attempts && contender === this.#first) {
        this.#askAgain = true;
        continue;
      }
      this.#waiting.delete(contender);
      contender.settle(this.#last);
    }
  }

  #next(): void {
    if (this.#waiting.size === 0) this.#rest();
    else if (this.#askAgain) this.ask();
    else this.#park();
  }

  /** Waits for a message, for the lease to end, or for the poll, whatever comes first. */
  #park(): void {
    if (this.#asking !== undefined) return;
    if (this.#last.kind === 'busy' && this.settings.wakeUp === 'message') this.#listen();
    this.#pollIn(this.#pace.next(this.#last));
  }

  #pollIn(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = after(delayMs, () => {
      if (this.#asking === this.#first) {
        this.#pollIn(this.settings.pollIntervalMs);
      } else {
        // An attempt whose caller has left must not keep the others from asking.
        this.#asking = undefined;
        this.ask();
      }
    });
  }

  #listen(): void {
    if (this.#stopListening !== undefined) return;
    const { connection, channel } = this.settings;
    this.#stopListening = connection.listen(channel, {
      message: () => {
        this.ask();
      },
      confirmed: () => {
        this.ask();
      },
    });
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#stopListening?.();
    this.#stopListening = undefined;
    if (this.#asking === undefined) this.settings.onIdle();
  }
}
