import { Callers } from './callers.js';
import { queueMicrotask } from '../time/clock.js';
import type {
  Channels,
  Contender,
  Departure,
  Grant,
  LastAnswer,
  QueueHost,
  WaitingPlace,
} from './contender.js';
import { LockBackendError, LockShutdownError } from '../api/errors.js';
import type { Hold, Succession } from '../holding/hold.js';
import type { Claim, AcquireAnswer, OwnerId } from '../holding/protocol.js';
import type { KeyUse } from './keys-in-use.js';
import { Line, type LocalQueue } from './claims.js';
import { Poll } from './poll.js';
import { QueueMessages, type QueueListener } from './wake-ups.js';
import { ANSWER_MS, type Reply } from '../redis/connection.js';

/** The local callers of one key: first come first served, and only the first is known to Redis. */
export class WaitQueue implements LocalQueue, QueueListener {
  readonly #callers: Callers;
  /** The caller whose attempt is on its way; it may have left the queue meanwhile. */
  #asking: Contender | undefined;
  #attempts = 0;
  /** The attempt was sent in this very turn of the event loop: it is one for all who ask in it. */
  #isSending = false;
  #askAgain = false;
  #askedAt = 0;
  /** It should be told of grants by now, and is not: its polls find them. */
  #isDeaf = false;
  /** Whoever comes before is of this process, and hands it on. */
  #isBehindOwn = false;
  #madeChannels: Channels | undefined;
  #madePoll: Poll | undefined;
  #messages: QueueMessages | undefined;
  #line: Line | undefined;

  constructor(
    private readonly host: QueueHost,
    readonly place: WaitingPlace,
    readonly use: KeyUse,
  ) {
    this.#callers = new Callers(host.context.clock);
  }

  /** How many are not content with one answer. */
  get waiters(): number {
    return this.#callers.waiters;
  }

  /** The last answer; none once Redis has owed a newer one for longer than `ANSWER_MS`. */
  get known(): LastAnswer {
    const { clock } = this.host.context;
    const isOwed = this.#asking !== undefined && clock.now() - this.#askedAt > ANSWER_MS;
    return isOwed ? { kind: 'none' } : this.#callers.last;
  }

  enter(contender: Contender): () => Departure {
    const isFirst = this.#callers.size === 0;
    const { known } = this;
    if (!isFirst && contender.once && known.kind === 'busy') {
      // Others are ahead, and the lock is not free: asking Redis would tell nothing new.
      contender.settle(known);
    } else {
      this.#callers.add(contender, this.#isSending ? this.#attempts : this.#attempts + 1);
      if (isFirst) this.#begin(contender);
    }
    return () => this.#leave(contender);
  }

  /** Sends the attempt of the first in the queue, unless one is on its way already. */
  ask(): void {
    const { first } = this.#callers;
    if (first === undefined) return;
    if (this.#asking !== undefined) {
      this.#askAgain = true;
      return;
    }
    this.expectAnswer(first);
    const attempt = ++this.#attempts;
    this.#isSending = true;
    queueMicrotask(() => (this.#isSending = false));
    first.ask(
      this.#claimOf(first),
      (reply) => {
        this.#onReply(first, attempt, reply);
      },
      (error) => {
        this.#onError(first, error);
      },
    );
  }

  /** The holder leaves: whoever waits first gets it in the same step, or its process stands in line. */
  succeed(hold: Hold): Succession | undefined {
    const next = this.#callers.firstToWait;
    return next === undefined ? undefined : this.#lineOf()?.succeed(hold, next);
  }

  expectAnswer(contender: Contender): void {
    this.#asking = contender;
    this.#askedAt = this.host.context.clock.now();
    this.#askAgain = false;
  }

  answered(contender: Contender): void {
    if (this.#asking === contender) this.#asking = undefined;
  }

  grant(contender: Contender, reply: Grant): void {
    this.answered(contender);
    this.#madePoll?.restart();
    if (this.#callers.drop(contender)) {
      const { isShared } = this.host;
      this.#callers.remember(
        isShared ? { kind: 'none' } : { kind: 'busy', remainingMs: contender.leaseTimeMs },
      );
      this.#line?.leave(contender);
      if (this.#callers.size > 0) this.use.granted = contender.candidate?.owner;
      const counted = this.#line?.counted(contender, reply) ?? reply;
      contender.settle({ kind: 'granted', reply: counted });
      this.#callers.answerOnce(Infinity);
      // If a local caller has it now, its release will be heard: no use in asking before.
      this.#askAgain = isShared;
    } else if (!contender.hasLock) {
      void contender.tooLate().then(() => {
        this.ask();
      });
    }
    this.goOn();
  }

  busy(remainingMs: number): void {
    // Else a newer answer is on its way.
    if (this.#asking === undefined) this.#callers.remember({ kind: 'busy', remainingMs });
    this.goOn(this.#callers.answerOnce(this.#attempts));
  }

  knows(owner: OwnerId): boolean {
    const { granted } = this.use;
    const holder = this.host.holder(this.use)?.owner;
    const isOurs = owner === holder || owner === granted || this.host.isKeptBy(owner);
    return isOurs || owner === this.#asking?.candidate?.owner;
  }

  get isTold(): boolean {
    return this.#messages?.hearsGrants === true;
  }

  goOn(askAgain = this.#askAgain): void {
    if (this.#callers.size === 0) this.#rest();
    else if (askAgain || this.#askAgain) this.ask();
    else this.#park();
  }

  hint(): void {
    if (!this.host.standsBack(this.place.line)) this.ask();
  }

  granted(payload: string): void {
    this.#lineOf()?.told(payload);
  }

  close(): void {
    // Last come, first gone: nobody asks in the place of one who leaves.
    for (const one of this.#callers.all().reverse()) one.fail(new LockShutdownError(one.name));
  }

  get #channels(): Channels {
    return (this.#madeChannels ??= this.place.channels());
  }

  get #poll(): Poll {
    const { settings, clock } = this.host.context;
    return (this.#madePoll ??= new Poll(settings, clock, () => {
      this.#onPoll();
    }));
  }

  /** As far as the clock says. */
  get #liveHolder(): Hold | undefined {
    const holder = this.host.holder(this.use);
    return holder !== undefined && holder.remainingMs > 0 ? holder : undefined;
  }

  #begin(contender: Contender): void {
    const holder = contender.once ? undefined : this.#liveHolder;
    if (holder !== undefined) {
      this.#callers.remember({ kind: 'busy', remainingMs: holder.remainingMs });
    }
    // The answer to one that has left may never come.
    if (this.#asking !== undefined) this.#poll.in();
    else if (!contender.once && this.host.standsBack(this.place.line)) this.#poll.in();
    // One of ours after another has it: this one is next, without asking.
    else if (holder !== undefined && holder.passes > 0) this.#park();
    else this.ask();
  }

  /** In line only while somebody elsewhere has it, and only if it would be told, or looks by itself. */
  #claimOf(contender: Contender): Claim | undefined {
    const isReached = this.isTold || this.#isDeaf || this.host.context.settings.wakeUp === 'poll';
    const isOurs = this.#liveHolder !== undefined || this.use.granted !== undefined;
    if (!isReached || isOurs) return undefined;
    return this.#lineOf()?.claim(contender, this.isTold);
  }

  #leave(contender: Contender): Departure {
    const isAsking = this.#asking === contender;
    const last = this.known;
    if (this.#callers.drop(contender)) {
      const isInLine = this.#line?.leave(contender) === true;
      if (this.#callers.size === 0) this.#rest();
      else if (isAsking) this.#poll.in();
      // Its place is kept for the next.
      if (isInLine) this.ask();
    }
    return { last, isAsking };
  }

  #onReply(contender: Contender, attempt: number, reply: Reply<AcquireAnswer>): void {
    const isOverridden = this.#asking !== contender;
    this.answered(contender);
    const { value } = reply;
    if (value.kind === 'granted') {
      if (value.isForAll === true) this.#onGrantForAll(attempt, reply as Grant);
      else this.grant(contender, reply as Grant);
      return;
    }
    // A newer attempt is on its way, whose answer counts.
    if (isOverridden) return;
    this.#isBehindOwn = value.kind === 'busy' && value.isBehindOwn === true;
    if (value.kind === 'busy') this.host.heard(this.place, value, this.#callers.last);
    this.busy(value.kind === 'busy' ? value.remainingMs : 0);
  }

  /** Whoever came after the attempt was sent asks anew: meanwhile it may hold no more. */
  #onGrantForAll(attempt: number, reply: Grant): void {
    this.#callers.remember({ kind: 'none' });
    for (const contender of this.#callers.since(attempt)) {
      this.#callers.drop(contender);
      contender.settle({ kind: 'granted', reply });
    }
    this.goOn(true);
  }

  #lineOf(): Line | undefined {
    const { handOff } = this.#channels;
    if (handOff === undefined) return undefined;
    return (this.#line ??= new Line(this.host.context, this, this.#callers, handOff));
  }

  #onError(contender: Contender, error: unknown): void {
    this.answered(contender);
    const isPassing = error instanceof LockBackendError && error.retryable;
    if (isPassing) this.#callers.remember({ kind: 'failed', error });
    if (!this.#callers.has(contender)) {
      // Redis may have granted this attempt all the same, or one before it.
      if (contender.isUncertain && !contender.hasLock) void contender.tooLate();
    } else if (!isPassing) {
      this.#callers.drop(contender);
      contender.fail(error as Error);
      this.#askAgain = true;
    }
    this.goOn();
  }

  /** Waits for a message, for the lease to end, or for the poll, whatever comes first. */
  #park(): void {
    if (this.#asking !== undefined) return;
    const { last } = this.#callers;
    if (last.kind === 'busy') this.#listen();
    if (last.kind !== 'busy' || this.host.polls(this.place)) this.#poll.after(last);
  }

  #onPoll(): void {
    const isAsking = this.#asking !== undefined && this.#asking === this.#callers.first;
    if (isAsking || this.host.standsBack(this.place.line)) {
      this.#poll.in();
    } else {
      this.#isDeaf = this.#messages?.isListening === true && !this.#messages.hearsGrants;
      // An attempt whose caller has left must not keep the others from asking.
      this.#asking = undefined;
      this.ask();
    }
  }

  #listen(): void {
    const { connection, clock, settings } = this.host.context;
    if (settings.wakeUp !== 'message') return;
    this.#messages ??= new QueueMessages(connection, clock, this.#channels, this);
    if (this.#liveHolder === undefined && !this.#isBehindOwn) this.#messages.listen();
    else this.#messages.expect();
  }

  #rest(): void {
    this.#madePoll?.stop();
    this.#messages?.stop();
    this.#messages = undefined;
    if (this.#asking === undefined) this.host.onIdle(this.place);
  }
}
