import type { Callers } from './callers.js';
import type { Contender, Grant, HandOff } from './contender.js';
import { isAmongPolls, openEveryMs } from '../lua/outsiders.js';
import type { Hold, Succession } from '../holding/hold.js';
import type { Claim, Handed, Successor, ReleaseAnswer, OwnerId } from '../holding/protocol.js';
import type { LockContext } from '../lock-context.js';
import { PlaceInLine } from './place-in-line.js';
import { LAST_BACKOFF_MS } from './poll.js';
import type { Reply } from '../redis/connection.js';

/** So often a process hands a lock on to its own callers before another process gets its turn. */
const TURN = 8;
/** So long where others poll, whom a turn keeps waiting for a pause of theirs. */
const TURN_AMONG_POLLS_MS = 3 * LAST_BACKOFF_MS;

/** What a line does with the queue of callers whose process stands in it. */
export interface LocalQueue {
  /** A script that concerns this caller is on its way; or is answered. */
  expectAnswer(contender: Contender): void;
  answered(contender: Contender): void;
  grant(contender: Contender, reply: Grant): void;
  busy(remainingMs: number): void;
  /** Whether this owner has it, has just been granted it, asks for it, or has left it as it stays taken. */
  knows(owner: OwnerId): boolean;
  /** Whether it hears of grants. */
  readonly isTold: boolean;
  ask(): void;
  /** Asks, if there is still somebody who waits. */
  goOn(askAgain: true): void;
}

/** A key of which processes stand in line, and the local callers whom others hand it on to. */
export class Line {
  readonly #place: PlaceInLine;
  /** Whom the lock was passed on to, but who has to enter by itself; and what it is handed. */
  #entering: Contender | undefined;
  #handed: Handed | undefined;
  #isGivingBack = false;

  constructor(
    private readonly context: LockContext,
    private readonly queue: LocalQueue,
    private readonly callers: Callers,
    private readonly handOff: HandOff,
  ) {
    this.#place = new PlaceInLine(context);
  }

  /** With what this caller asks, so that its process stands in line. */
  claim(contender: Contender, isTold: boolean): Claim | undefined {
    const stands = !contender.once && contender.candidate !== undefined;
    return stands ? this.#place.claim(contender, isTold) : undefined;
  }

  /** The holder leaves, and names the next. */
  succeed(hold: Hold, next: Contender): Succession | undefined {
    const { candidate } = next;
    if (candidate === undefined) return undefined;
    // Where everybody has a place of his own, none is claimed for another.
    const isTurnOver = this.handOff.giveBack !== undefined && this.#isOver(hold, next);
    const heir: Successor = {
      owner: candidate.owner,
      starts: candidate.starts,
      leaseTimeMs: next.leaseTimeMs,
      waitedMs: next.waitedMs,
      callers: this.callers.size,
      claim: isTurnOver ? this.#place.claim(next, this.queue.isTold) : undefined,
    };
    this.queue.expectAnswer(next);
    return {
      heir,
      sent: (running) => {
        next.isNamedBy(running);
      },
      settle: (reply) => {
        this.queue.answered(next);
        const handed = isTurnOver
          ? { passes: 1, since: Math.floor(reply.sentAt) }
          : { passes: hold.passes + 1, since: hold.turnSince };
        this.#onLeft(next, heir, handed, reply);
      },
      fail: () => {
        this.queue.answered(next);
        this.queue.goOn(true);
      },
    };
  }

  /** Somebody has handed it over, and says so. */
  told(payload: string): void {
    const told = this.#place.read(payload);
    if (told === undefined) return;
    const { owner, contender, reply } = told;
    if (contender !== undefined && reply !== undefined) this.queue.grant(contender, reply);
    else if (contender !== undefined || this.callers.firstToWait?.candidate?.owner === owner)
      this.queue.ask();
    else if (!this.queue.knows(owner)) void this.#giveBack(owner);
  }

  /**
   * The turn is, after so many of this process, when it is time for those who are in no line, or when
   * they have to be told that the next lease is shorter.
   */
  #isOver({ passes, turnSince, remainingMs }: Hold, next: Contender): boolean {
    const { settings, clock } = this.context;
    const lastedMs = clock.now() - turnSince;
    if (isAmongPolls(settings)) return lastedMs >= TURN_AMONG_POLLS_MS;
    const openEvery = openEveryMs(settings);
    const most = settings.interop === 'redisson' ? 1 : TURN;
    const isForOutsiders = lastedMs >= openEvery || remainingMs > next.leaseTimeMs;
    return passes >= most - 1 || (openEvery > 0 && isForOutsiders);
  }

  /** One at a time: who repeats old messages must not make us send as many scripts. */
  async #giveBack(owner: OwnerId): Promise<void> {
    if (this.#isGivingBack) return;
    this.#isGivingBack = true;
    await this.handOff.giveBack?.(owner);
    this.#isGivingBack = false;
  }

  /** The grant of one who entered by itself is one more in the turn of this process. */
  counted(contender: Contender, reply: Grant): Grant {
    const handed = this.#entering === contender ? this.#handed : undefined;
    this.#entering = undefined;
    if (handed === undefined || reply.value.handed !== undefined) return reply;
    return handedOn(reply, handed, reply.value.fencingToken);
  }

  /** Whether its process stood in line for this caller, who waits no more. */
  leave(contender: Contender): boolean {
    if (!this.#place.isOf(contender)) return false;
    this.#place.forget();
    return true;
  }

  /** It is the caller's, who has to enter by itself. */
  #letEnter(next: Contender, handed: Handed): void {
    this.#entering = next;
    this.#handed = handed;
    if (!this.callers.has(next) && !next.hasLock) void next.tooLate();
    this.callers.remember({ kind: 'busy', remainingMs: next.leaseTimeMs });
    this.callers.answerOnce(Infinity);
    this.queue.goOn(true);
  }

  #onLeft(
    next: Contender,
    { starts }: Successor,
    handed: Handed,
    reply: Reply<ReleaseAnswer>,
  ): void {
    // When the script was sent twice, the first one did it.
    const hasIt = reply.value === 'passed' || (reply.value === 'had' && reply.resent);
    if (reply.value === 'passed' && starts) {
      this.queue.grant(next, handedOn(reply, handed));
    } else if (hasIt) {
      this.#letEnter(next, handed);
    } else if (reply.value === 'opened' || reply.value === 'done') {
      this.queue.busy(this.context.settings.claimTimeMs);
    } else {
      // Its own script tells whether it is free, or for how long it has it already or others have it.
      this.queue.goOn(true);
    }
  }
}

function handedOn(reply: Reply<unknown>, handed: Handed, fencingToken?: number): Grant {
  const { sentAt, resent } = reply;
  return { value: { kind: 'granted', fencingToken, handed }, sentAt, resent };
}
