import type { NodeClient } from '../connection/client.js';
import {
  ONCE,
  type RedisClient,
  type RedisOptions,
  type SocketOptions,
  type Target,
} from './own-client.js';

interface ShardNode {
  readonly address: string;
  client?: unknown;
}

type AddressMap =
  | Readonly<Record<string, SocketOptions | undefined>>
  | ((address: string) => SocketOptions | undefined);

/** The part of a cluster of node-redis that this adapter uses. */
export interface RedisCluster {
  readonly masters: readonly ShardNode[];
  readonly slots: readonly ({ readonly master: ShardNode } | undefined)[];
  readonly _options?: { readonly defaults?: RedisOptions; readonly nodeAddressMap?: AddressMap };
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(overrides: object): RedisCluster;
  nodeClient(node: ShardNode): RedisClient | Promise<RedisClient>;
  on(event: string, listener: (detail: never) => void): unknown;
}

/** As CLUSTER SLOTS answers: the ends of a range, its master and its replicas. */
type Range = readonly [from: number, to: number, master: readonly [host: string, port: number]];

const SLOTS = 16_384;
const NO_MASTER = 'The cluster has no master';

/**
 * Which master has which slots. A copy of the application's cluster finds the servers. From then on
 * the connections of the locks answer, which are watched.
 */
export class ClusterMap {
  #masters: readonly (string | undefined)[] = [];
  #client: RedisClient | undefined;
  readonly #finders = new Set<RedisCluster>();

  constructor(private readonly cluster: RedisCluster) {}

  get addresses(): Set<string> {
    const addresses = new Set(this.#masters);
    addresses.delete(undefined);
    return addresses as Set<string>;
  }

  masterOf(slot: number): string | undefined {
    return this.#masters[slot];
  }

  /** Reads it from the servers that the application has named. */
  async find(): Promise<boolean> {
    const { defaults } = this.cluster._options ?? {};
    const finder = this.cluster.duplicate({
      minimizeConnections: true,
      defaults: { ...defaults, socket: { ...defaults?.socket, ...ONCE } },
    });
    this.#finders.add(finder);
    let trouble: unknown;
    finder.on('error', (error) => {
      trouble = error;
    });
    try {
      await finder.connect();
      const masters = Array.from(finder.slots, (shard) => shard?.master.address);
      // Any client of it has the options for all of its servers.
      this.#client ??= await clientOf(finder);
      return this.#replace(masters);
    } catch (error) {
      throw trouble ?? error;
    } finally {
      this.#finders.delete(finder);
      finder.destroy();
    }
  }

  /** Ends the searches. */
  close(): void {
    for (const finder of this.#finders) finder.destroy();
  }

  /** Reads it from one node. */
  async read(node: NodeClient): Promise<boolean> {
    const ranges = (await node.send('cluster', 'slots')) as readonly Range[];
    const masters = new Array<string | undefined>(SLOTS).fill(undefined);
    const [self = ''] = node.address.split(/:\d+$/);
    for (const [from, to, [host, port]] of ranges) {
      // A server that does not know its own address leaves it out.
      masters.fill(`${host || self}:${String(port)}`, from, to + 1);
    }
    return this.#replace(masters);
  }

  /** Redis has said that this node has the slot. */
  assign(slot: number, address: string): void {
    this.#masters = this.#masters.with(slot, address);
  }

  target(address: string): Target {
    if (this.#client === undefined) throw new Error('No node of the cluster is known');
    const at = address.lastIndexOf(':');
    const place = { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
    const { nodeAddressMap: map } = this.cluster._options ?? {};
    const mapped = typeof map === 'function' ? map(address) : map?.[address];
    return { client: this.#client, at: mapped ?? place };
  }

  #replace(masters: readonly (string | undefined)[]): boolean {
    // As a server answers that has left the Cluster.
    if (masters.every((master) => master === undefined)) throw new Error(NO_MASTER);
    const old = this.#masters;
    this.#masters = masters;
    return masters.some((master, slot) => master !== old[slot]);
  }
}

async function clientOf(finder: RedisCluster): Promise<RedisClient> {
  let trouble: unknown = new Error(NO_MASTER);
  for (const node of finder.masters) {
    try {
      return await finder.nodeClient(node);
    } catch (error) {
      trouble = error;
      // Version 5 keeps it, and cannot destroy it.
      node.client = undefined;
    }
  }
  throw trouble;
}
