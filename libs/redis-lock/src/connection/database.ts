import type { LockBackendError } from '../core/api/errors.js';
import type { NodeClient } from './client.js';
import { unconfirmedDatabaseError } from './reply-error.js';

/** Called when Redis has confirmed or refused the database. */
export interface DatabaseListener {
  confirmed(): void;
  refused(error: LockBackendError): void;
}

/**
 * The database of a connection. ioredis continues in database 0 when Redis refuses another one.
 * There a lock would exclude no other process. So each new connection waits until its choice is
 * confirmed.
 */
export class Database {
  #confirmed: number | undefined;
  #confirming: Promise<void> | undefined;

  constructor(
    private readonly client: NodeClient,
    private readonly listener: DatabaseListener,
  ) {}

  /** The last choice of the client: the caller may select another database. */
  get number(): number {
    return this.client.database;
  }

  /** Every connection begins in database 0: it needs no choice, and no right to choose. */
  get isConfirmed(): boolean {
    const number = this.client.database;
    return number === 0 || number === this.#confirmed;
  }

  /** Whether a new connection waits for its first answer. */
  get isArriving(): boolean {
    return this.#confirmed === undefined && this.#confirming !== undefined;
  }

  /**
   * Resolves when Redis has answered for the present choice.
   * @throws {LockBackendError} Redis refused, or did not answer
   */
  confirm(): Promise<void> {
    this.#confirming ??= this.#confirm(this.number);
    return this.#confirming;
  }

  /** The connection broke. The next connection needs an answer of its own. */
  forget(): void {
    this.#confirmed = undefined;
    this.#confirming = undefined;
  }

  #confirm(number: number): Promise<void> {
    const answer = this.client.select(number).then(
      () => {
        if (this.#confirming !== answer) return;
        this.#confirming = undefined;
        this.#confirmed = number;
        this.listener.confirmed();
      },
      (cause: unknown) => {
        const error = unconfirmedDatabaseError(cause);
        if (this.#confirming === answer) {
          this.#confirming = undefined;
          if (!error.retryable) this.listener.refused(error);
        }
        throw error;
      },
    );
    return answer;
  }
}
