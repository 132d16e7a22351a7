import { after, type Clock } from './clock.js';
import { LockBackendError, LockShutdownError } from './errors.js';
import type { EnterAnswer } from './hold-protocol.js';
import type { RedisConnection, Reply } from './redis-connection.js';

/** How an attempt ended: granted, or somebody else has the lock and the caller has no time to wait. */
export type Outcome =
  | { readonly kind: 'granted'; readonly reply: Reply<EnterAnswer & { kind: 'granted' }> }
  | { readonly kind: 'busy'; readonly remainingMs: number };

/** One local caller that wants a key. */
export interface Contender {
  readonly name: string;
  readonly leaseTimeMs: number;
  /** Content with one answer of Redis, whatever it is. */
  readonly once: boolean;
  /** An attempt may have been executed although it failed. */
  readonly isUncertain: boolean;
  /** Sends its attempt; always for the same owner, so that a repeated one is the same one. */
  ask(): Promise<Reply<EnterAnswer>>;
  settle(outcome: Outcome): void;
  fail(error: Error): void;
  /** Called whenever a poll finds the caller still waiting. */
  stillWaiting(last: LastAnswer): void;
  /** An attempt went through, or may have, although the caller had left meanwhile. */
  tooLate(): Promise<void>;
}

/** What is known of a key from the last attempt of this process; `none` while Redis owes an answer. */
export type LastAnswer =
  | { readonly kind: 'none' }
  | { readonly kind: 'busy'; readonly remainingMs: number }
  | { readonly kind: 'failed'; readonly error: LockBackendError };

/** What a caller takes along when it leaves. */
export interface Departure {
  readonly last: LastAnswer;
  /** Its attempt is on its way; `tooLate` will be called if it turns out to have been granted. */
  readonly isAsking: boolean;
}

/** After an answer that a lease is about to end, Redis is asked again no sooner than this. */
const SHORTEST_POLL_MS = 20;
/** While Redis answers with passing errors. */
const RETRY_MS = 250;

/** What a queue needs to know of its surroundings. */
export interface QueueSettings {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  /** Where a release of the key is announced. */
  readonly channel: string;
  /** Nobody waits, and no attempt is on its way any more. */
  readonly onIdle: () => void;
}

/** The local callers of one key: first come first served, and only the first is known to Redis. */
export class KeyQueue {
  readonly #waiting = new Set<Contender>();
  /** The contender whose attempt is on its way; it may have left the queue meanwhile. */
  #asking: Contender | undefined;
  #askAgain = false;
  #askedAt = 0;
  #last: LastAnswer = { kind: 'none' };
  #lastAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | undefined;

  constructor(private readonly settings: QueueSettings) {}

  enter(contender: Contender): () => Departure {
    const isFirst = this.#waiting.size === 0;
    const known = this.#known();
    if (!isFirst && contender.once && known.kind === 'busy') {
      // Others are ahead, and the lock is not free: asking Redis would tell nothing new.
      contender.settle(known);
    } else {
      this.#waiting.add(contender);
      // The answer to one that has left may never come.
      if (isFirst && this.#asking !== undefined) this.#pollIn(this.settings.pollIntervalMs);
      else if (isFirst) this.ask();
    }
    return () => this.#leave(contender);
  }

  /** Sends the attempt of the first in the queue, unless one is on its way already. */
  ask(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    if (this.#asking !== undefined) {
      this.#askAgain = true;
      return;
    }
    this.#pollIn(this.settings.pollIntervalMs);
    this.#asking = first;
    this.#askedAt = this.settings.clock.now();
    this.#askAgain = false;
    first.ask().then(
      (reply) => {
        this.#onReply(first, reply);
      },
      (error: unknown) => {
        this.#onError(first, error);
      },
    );
  }

  close(): void {
    for (const contender of [...this.#waiting]) {
      contender.fail(new LockShutdownError(contender.name));
    }
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
    if (last.kind !== 'busy') return last;
    const now = this.settings.clock.now();
    const isOwed = this.#asking !== undefined && now - this.#askedAt > this.settings.pollIntervalMs;
    if (isOwed) return { kind: 'none' };
    return { kind: 'busy', remainingMs: Math.max(0, last.remainingMs - (now - this.#lastAt)) };
  }

  #remember(answer: LastAnswer): void {
    this.#last = answer;
    this.#lastAt = this.settings.clock.now();
  }

  #onReply(contender: Contender, reply: Reply<EnterAnswer>): void {
    if (this.#asking === contender) this.#asking = undefined;
    const { value } = reply;
    if (value.kind === 'granted') {
      this.#onGrant(contender, { ...reply, value });
      return;
    }
    this.#remember({ kind: 'busy', remainingMs: value.kind === 'busy' ? value.remainingMs : 0 });
    this.#answerOnce();
    this.#next();
  }

  #onGrant(contender: Contender, reply: Reply<EnterAnswer & { kind: 'granted' }>): void {
    if (this.#waiting.delete(contender)) {
      this.#remember({ kind: 'busy', remainingMs: contender.leaseTimeMs });
      contender.settle({ kind: 'granted', reply });
      this.#answerOnce();
      // A local caller has it now, whose release will be heard: no use in asking before.
      this.#askAgain = false;
    } else {
      void contender.tooLate().then(() => {
        this.ask();
      });
    }
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

  /** Whoever wanted one answer has it. */
  #answerOnce(): void {
    if (this.#last.kind !== 'busy') return;
    for (const contender of [...this.#waiting]) {
      if (!contender.once) continue;
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
    const { pollIntervalMs } = this.settings;
    let delayMs = jittered(Math.min(pollIntervalMs, RETRY_MS));
    if (this.#last.kind === 'busy') {
      this.#listen();
      const leaseEndMs = Math.max(SHORTEST_POLL_MS, this.#last.remainingMs + 1);
      delayMs = Math.min(jittered(pollIntervalMs), leaseEndMs);
    }
    this.#pollIn(delayMs);
  }

  #pollIn(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = after(delayMs, () => {
      const [first] = this.#waiting;
      first?.stillWaiting(this.#known());
      if (this.#asking === first) {
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

/** Downwards, so that processes do not ask in step and nobody waits longer than was said. */
function jittered(delayMs: number): number {
  return delayMs * (0.8 + Math.random() * 0.2);
}
