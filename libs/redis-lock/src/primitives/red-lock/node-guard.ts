import type { Clock } from '../../core/time/clock.js';
import { LockBackendError, LockConfigurationError } from '../../core/api/errors.js';
import type { RedisConnection } from '../../core/redis/connection.js';
import { IDENTIFY, type ServerIdentity } from './red-lock.scripts.js';

/**
 * Keeps a server that may have forgotten locks from voting. After a restart it votes again when
 * every lease that it could have granted before is over. Every new connection requests the server's
 * identity.
 */
export class NodeGuard {
  readonly #stopListening: () => void;
  /** Counts connections: after a reconnect another server may answer. */
  #term = 0;
  #isKnown = false;
  #asking: Promise<void> | undefined;
  #runId: string | undefined;
  #votesFrom = Infinity;
  #unfit: Error | undefined;

  constructor(
    private readonly connection: RedisConnection,
    private readonly clock: Clock,
    private readonly longestLeaseMs: number,
    onKnown: () => void,
  ) {
    this.#stopListening = connection.onUp(() => {
      this.#term++;
      this.#isKnown = false;
      this.#asking = undefined;
      this.identify().then(onKnown, () => undefined);
    });
  }

  /** The last known run id of the server. */
  get runId(): string | undefined {
    return this.#runId;
  }

  /** The reason why the server must not be a node at all. */
  get misfit(): LockConfigurationError | undefined {
    return this.#unfit instanceof LockConfigurationError ? this.#unfit : undefined;
  }

  /** Resolves once the server of this connection is known. */
  async identify(): Promise<void> {
    while (!this.#isKnown) {
      const asking = (this.#asking ??= this.#ask());
      try {
        await asking;
      } finally {
        if (this.#asking === asking) this.#asking = undefined;
      }
    }
  }

  /**
   * Resolves with the term in which the server may vote.
   * @throws {LockBackendError} it may not vote yet, or did not identify itself
   * @throws {LockConfigurationError} it is no independent master
   */
  async admit(): Promise<number> {
    await this.identify();
    if (this.#unfit !== undefined) throw this.#unfit;
    const leftMs = this.#votesFrom - this.clock.now();
    if (leftMs > 0) throw restartedError(leftMs);
    return this.#term;
  }

  /** Whether the connection, and so the server, is still the same. */
  isStill(term: number): boolean {
    return term === this.#term;
  }

  close(): void {
    this.#stopListening();
  }

  async #ask(): Promise<void> {
    const term = this.#term;
    const { value, resent } = await this.connection.run(IDENTIFY, [], []);
    if (resent || term !== this.#term) return;
    this.#learn(value);
    this.#isKnown = true;
  }

  #learn(server: ServerIdentity): void {
    const isNew = server.runId !== this.#runId;
    const isFirst = this.#runId === undefined;
    this.#unfit = unfitness(server, isFirst);
    if (!isNew) return;
    // A restart that this process noticed is the newer fact: the server's clock may have been set, which
    // changes the uptime.
    const ageMs = isFirst ? server.uptimeMs : 0;
    this.#votesFrom = this.clock.now() + Math.max(0, this.longestLeaseMs - ageMs);
    this.#runId = server.runId;
  }
}

/** A former master is set up rightly. It does not vote, and the others decide. */
function unfitness({ isMaster, isCluster }: ServerIdentity, isFirst: boolean): Error | undefined {
  if (isMaster && !isCluster) return undefined;
  const what = isCluster ? 'part of a Redis Cluster' : 'a replica';
  if (isFirst) {
    return new LockConfigurationError(
      `A node of the red lock is ${what}; it must be an independent master`,
    );
  }
  return new LockBackendError(`it is ${what} now`, { retryable: true, outcome: 'none' });
}

function restartedError(leftMs: number): LockBackendError {
  const left = String(Math.ceil(leftMs / 1_000));
  return new LockBackendError(
    `it has restarted, may have forgotten locks, and does not vote for another ${left} s`,
    { retryable: true, outcome: 'none' },
  );
}
