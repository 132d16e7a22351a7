import {
  LockBackendError,
  LockConfigurationError,
  LockQuorumError,
  type LockError,
} from '../../core/api/errors.js';

type Answer<R> = { readonly value: R } | { readonly error: LockError };

/** More than half, so that any two quorums have a node in common. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/** One request to all nodes at once, and the answers as they arrive. */
export class Ballot<R> {
  /** One entry for each node; undefined until it has answered. */
  readonly #answers: (Answer<R> | undefined)[];
  #onAnswer: () => void = () => undefined;

  constructor(
    asked: readonly Promise<R>[],
    /** The number of equal answers that decide. */
    readonly quorum: number,
  ) {
    this.#answers = asked.map(() => undefined);
    asked.forEach((answer, node) => {
      answer.then(
        (value) => {
          this.#enter(node, { value });
        },
        (error: unknown) => {
          this.#enter(node, { error: error as LockError });
        },
      );
    });
  }

  /** The answers so far, in the order of the nodes. */
  get values(): R[] {
    return this.#answers.flatMap((answer) =>
      answer !== undefined && 'value' in answer ? [answer.value] : [],
    );
  }

  get failures(): number {
    return this.#errors.length;
  }

  get isComplete(): boolean {
    return !this.#answers.includes(undefined);
  }

  /** With more refusals than this, a quorum is impossible. */
  get minority(): number {
    return this.#answers.length - this.quorum;
  }

  /** Whether the node may have executed the request. Its answer decides, if there is one. */
  mayHaveDone(node: number, isDone: (value: R) => boolean): boolean {
    const answer = this.#answers[node];
    if (answer === undefined) return true;
    return 'value' in answer ? isDone(answer.value) : isUnknown(answer.error);
  }

  count(isCounted: (value: R) => boolean): number {
    return this.values.filter(isCounted).length;
  }

  /** Resolves with the first verdict. There has to be one once all nodes have answered. */
  until<V>(decide: () => V | undefined): Promise<V> {
    return new Promise<V>((resolve, reject: (reason: Error) => void) => {
      this.#onAnswer = () => {
        try {
          const verdict = decide();
          if (verdict === undefined) return;
          this.#onAnswer = () => undefined;
          resolve(verdict);
        } catch (error) {
          reject(error as Error);
        }
      };
      this.#onAnswer();
    });
  }

  /** The reason why there is no quorum. */
  error(): LockError {
    const errors = this.#errors;
    const misconfigured = errors.find((error) => error instanceof LockConfigurationError);
    if (misconfigured !== undefined) return misconfigured;
    const refusals = errors.filter((error) => !(error instanceof LockBackendError));
    // The repair of the other nodes would not help: a quorum stays impossible.
    if (refusals[0] !== undefined && refusals.length > this.minority) return refusals[0];
    const lasting = errors.filter((error) => !isPassing(error));
    return new LockQuorumError(this.#complaint(), {
      retryable: lasting.length <= this.minority,
      outcome: errors.some(isUnknown) ? 'unknown' : 'none',
      causes: this.#answers.map((answer) => causeOf(answer)),
    });
  }

  get #errors(): LockError[] {
    return this.#answers.flatMap((answer) =>
      answer !== undefined && 'error' in answer ? [answer.error] : [],
    );
  }

  #complaint(): string {
    const reasons = this.#answers.flatMap((answer, i) => {
      const cause = causeOf(answer);
      return cause === undefined ? [] : [`node ${String(i + 1)}: ${cause.message}`];
    });
    const [answered, all] = [this.values.length, this.#answers.length];
    return (
      `${String(answered)} of ${String(all)} nodes answered, and ${String(this.quorum)} have to ` +
      `agree (${reasons.join('; ')})`
    );
  }

  #enter(node: number, answer: Answer<R>): void {
    this.#answers[node] = answer;
    this.#onAnswer();
  }
}

const NOT_YET = new LockBackendError('no answer yet', {
  retryable: true,
  outcome: 'unknown',
});

function causeOf(answer: Answer<unknown> | undefined): LockError | undefined {
  if (answer === undefined) return NOT_YET;
  return 'error' in answer ? answer.error : undefined;
}

function isPassing(error: LockError): boolean {
  return error instanceof LockBackendError && error.retryable;
}

function isUnknown(error: LockError): boolean {
  return error instanceof LockBackendError && error.outcome === 'unknown';
}
