import type { Clock } from './clock.js';
import type { Contender, LastAnswer } from './contender.js';

/** The local callers of one key in their order, and what they know of it. */
export class Callers {
  /** Each with the first attempt that was sent during its call. */
  readonly #waiting = new Map<Contender, number>();
  /** Those of them who want one answer; made when the first comes. */
  #once: Set<Contender> | undefined;
  #last: LastAnswer = { kind: 'none' };
  #lastAt = 0;

  constructor(private readonly clock: Clock) {}

  get size(): number {
    return this.#waiting.size;
  }

  /** How many one answer does not send away. */
  get waiters(): number {
    return this.#waiting.size - (this.#once?.size ?? 0);
  }

  get first(): Contender | undefined {
    const [first] = this.#waiting.keys();
    return first;
  }

  /** The first whom one answer does not send away. */
  get firstToWait(): Contender | undefined {
    for (const contender of this.#waiting.keys()) if (!contender.once) return contender;
    return undefined;
  }

  /** The last answer; what it is worth now. */
  get last(): LastAnswer {
    const last = this.#last;
    if (last.kind !== 'busy') return last;
    const agedMs = this.clock.now() - this.#lastAt;
    return { kind: 'busy', remainingMs: Math.max(0, last.remainingMs - agedMs) };
  }

  add(contender: Contender, since: number): void {
    this.#waiting.set(contender, since);
    if (contender.once) (this.#once ??= new Set()).add(contender);
  }

  has(contender: Contender): boolean {
    return this.#waiting.has(contender);
  }

  drop(contender: Contender): boolean {
    if (contender.once) this.#once?.delete(contender);
    return this.#waiting.delete(contender);
  }

  all(): Contender[] {
    return [...this.#waiting.keys()];
  }

  /** Those who have been here since this attempt was sent, or before. */
  since(attempt: number): Contender[] {
    return this.all().filter((contender) => (this.#waiting.get(contender) ?? 0) <= attempt);
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
      if ((this.#waiting.get(contender) ?? 0) > newest && contender === this.first) {
        isTooLate = true;
        continue;
      }
      this.drop(contender);
      contender.settle(answer);
    }
    return isTooLate;
  }
}
