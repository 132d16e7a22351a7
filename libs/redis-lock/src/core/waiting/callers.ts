import type { Clock } from '../time/clock.js';
import type { Contender, LastAnswer } from './contender.js';

/** A place between two others. */
export interface Seat {
  readonly contender: Contender;
  /** The first attempt that was sent during its call. */
  readonly since: number;
  before: Seat | undefined;
  behind: Seat | undefined;
}

/** The local callers of one key in their order, and what they know of it. */
export class Callers {
  #head: Seat | undefined;
  #tail: Seat | undefined;
  #size = 0;
  /** Those of them who want one answer; made when the first comes. */
  #once: Set<Contender> | undefined;
  #last: LastAnswer = NONE;
  #lastAt = 0;

  constructor(private readonly clock: Clock) {}

  get size(): number {
    return this.#size;
  }

  /** How many one answer does not send away. */
  get waiters(): number {
    return this.#size - (this.#once?.size ?? 0);
  }

  get first(): Contender | undefined {
    return this.#head?.contender;
  }

  /** The first whom one answer does not send away. */
  get firstToWait(): Contender | undefined {
    let seat = this.#head;
    while (seat?.contender.once === true) seat = seat.behind;
    return seat?.contender;
  }

  /** The last answer; what it is worth now. */
  get last(): LastAnswer {
    const last = this.#last;
    if (last.kind !== 'busy') return last;
    const agedMs = this.clock.now() - this.#lastAt;
    return { kind: 'busy', remainingMs: Math.max(0, last.remainingMs - agedMs) };
  }

  add(contender: Contender, since: number): void {
    const seat: Seat = { contender, since, before: this.#tail, behind: undefined };
    contender.seat = seat;
    if (this.#tail === undefined) this.#head = seat;
    else this.#tail.behind = seat;
    this.#tail = seat;
    this.#size += 1;
    if (contender.once) (this.#once ??= new Set()).add(contender);
  }

  has(contender: Contender): boolean {
    return contender.seat !== undefined;
  }

  drop(contender: Contender): boolean {
    const { seat } = contender;
    if (seat === undefined) return false;
    contender.seat = undefined;
    const { before, behind } = seat;
    if (before === undefined) this.#head = behind;
    else before.behind = behind;
    if (behind === undefined) this.#tail = before;
    else behind.before = before;
    // V8 would keep all that came behind one that has grown old, each by the one before.
    seat.behind = undefined;
    this.#size -= 1;
    if (contender.once) this.#once?.delete(contender);
    return true;
  }

  all(): Contender[] {
    return this.since(Infinity);
  }

  /** Those who have been here since this attempt was sent, or before. */
  since(attempt: number): Contender[] {
    const contenders: Contender[] = [];
    for (let seat = this.#head; seat !== undefined; seat = seat.behind) {
      if (seat.since <= attempt) contenders.push(seat.contender);
    }
    return contenders;
  }

  remember(answer: LastAnswer): void {
    this.#last = answer;
    this.#lastAt = this.clock.now();
  }

  /**
   * Whoever wanted one answer has it. Only the first in line may have come too late for an answer of
   * Redis, after which `newest` was the newest attempt: those behind have somebody ahead of them, who
   * gets the lock if it is free. Answers whether it has to be asked for.
   */
  answerOnce(newest: number): boolean {
    const answer = this.#last;
    if (answer.kind !== 'busy' || this.#once === undefined) return false;
    let isTooLate = false;
    for (const contender of [...this.#once]) {
      if (contender === this.first && (contender.seat?.since ?? 0) > newest) {
        isTooLate = true;
        continue;
      }
      this.drop(contender);
      contender.settle(answer);
    }
    return isTooLate;
  }
}

const NONE: LastAnswer = { kind: 'none' };
