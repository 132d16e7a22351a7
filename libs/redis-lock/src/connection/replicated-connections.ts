import { LockError } from '../core/api/errors.js';
import type { ScriptCall } from '../core/redis/script.js';
import type { Clock } from '../core/time/clock.js';
import { isCluster, nodeAt, type Client, type NodeClient } from './client.js';
import { hashSlot } from './hash-slot.js';
import { noConnectionError } from './reply-error.js';
import { ReplicatedConnection, type Ordinary, type Replicated } from './replicated-connection.js';

/** The most redirections that a script follows. */
const REDIRECTIONS = 5;
/** The present master, where there is no Cluster. */
const MASTER = '';

/** Runs scripts that replicas must have: over a connection of its own for each master. */
export class ReplicatedConnections {
  readonly #connections = new Map<string, ReplicatedConnection>();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    private readonly ordinary: Ordinary,
  ) {}

  /** The ordinary connection leads to this server: connections to others are dropped. */
  agreeOn(runId: string | undefined): void {
    for (const connection of this.#connections.values()) connection.agreeOn(runId);
  }

  /**
   * Resolves when `minReplicas` replicas have the writes of the script.
   * @throws {LockReplicationError} too few have confirmed it
   * @throws {LockBackendError} Redis did not answer, or refused the command
   */
  async run(call: ScriptCall, minReplicas: number): Promise<Replicated> {
    const { client } = this;
    if (!isCluster(client)) return this.#connectionTo(MASTER).run(call, minReplicas);
    const slot = hashSlot(call.keys[0] ?? '');
    let asked: string | undefined;
    for (let redirections = 0; ; redirections++) {
      const node = asked ?? client.masterOf(slot);
      if (node === undefined) throw noConnectionError(undefined);
      try {
        return await this.#connectionTo(node).run(call, minReplicas, asked !== undefined);
      } catch (error) {
        const way = redirections < REDIRECTIONS ? redirectionOf(error) : undefined;
        if (way === undefined) throw error;
        asked = way.asks;
        if (asked === undefined) await client.refresh();
      }
    }
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }

  #connectionTo(node: string): ReplicatedConnection {
    let connection = this.#connections.get(node);
    if (connection === undefined) {
      connection = new ReplicatedConnection(
        () => this.#clientAt(node).another('replicas'),
        this.ordinary,
        this.clock,
      );
      this.#connections.set(node, connection);
    }
    return connection;
  }

  #clientAt(node: string): NodeClient {
    if (!isCluster(this.client)) return this.client;
    const client = nodeAt(this.client, 'all', node);
    if (client === undefined) throw new Error('The node of the cluster is unknown at present');
    return client;
  }
}

/** The target of a redirection: the node that has the slot by now, or is about to have it. */
function redirectionOf(error: unknown): { asks: string | undefined } | undefined {
  const reply =
    error instanceof LockError && error.cause instanceof Error ? error.cause.message : '';
  const asks = /^ASK \d+ (\S+)$/.exec(reply)?.[1];
  return asks !== undefined || reply.startsWith('MOVED ') ? { asks } : undefined;
}
