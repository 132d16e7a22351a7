import type { Cluster, Redis, RedisOptions } from 'ioredis';

import type { ClientEvents, ClusterClient, Listener, Route } from '../connection/client.js';
import { IoredisClient, routeTo } from './ioredis-client.js';
import { IoredisNode } from './ioredis-node.js';

/** A `Cluster` of ioredis. */
export class IoredisCluster extends IoredisClient<Cluster> implements ClusterClient {
  readonly topology = 'cluster';
  readonly remedy = 'set its clusterRetryStrategy and its socketTimeout';
  readonly #nodes = new WeakMap<Redis, IoredisNode>();
  readonly #onBroken = new Set<() => void>();

  get reconnects(): boolean {
    return typeof this.inner.options.clusterRetryStrategy === 'function';
  }

  get route(): Route {
    const hosts = startupNodesOf(this.inner).map(hostOf);
    return routeTo(hosts, this.inner.options.redisOptions ?? {});
  }

  /** A node that breaks is no event of ioredis' Cluster. */
  override on<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void {
    super.on(event, listener);
    if (event !== 'broken') return;
    const onBroken = listener as () => void;
    if (this.#onBroken.size === 0) this.inner.on('+node', this.#watch);
    this.#onBroken.add(onBroken);
    for (const node of this.inner.nodes('all')) node.on('close', onBroken);
  }

  override off<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void {
    super.off(event, listener);
    if (event !== 'broken') return;
    const onBroken = listener as () => void;
    this.#onBroken.delete(onBroken);
    if (this.#onBroken.size === 0) this.inner.off('+node', this.#watch);
    for (const node of this.inner.nodes('all')) node.off('close', onBroken);
  }

  masterOf(slot: number): string | undefined {
    return this.inner.slots[slot]?.[0];
  }

  nodes(role: 'all' | 'master'): readonly IoredisNode[] {
    return this.inner.nodes(role).map((node) => this.#nodeOf(node));
  }

  refresh(): Promise<void> {
    return new Promise((resolve) => {
      this.inner.refreshSlotsCache(() => {
        resolve();
      });
    });
  }

  #nodeOf(node: Redis): IoredisNode {
    const known = this.#nodes.get(node) ?? new IoredisNode(node);
    this.#nodes.set(node, known);
    return known;
  }

  readonly #watch = (node: Redis): void => {
    for (const onBroken of this.#onBroken) node.on('close', onBroken);
  };
}

/** The addresses that a caller created the Cluster with; ioredis keeps them private. */
function startupNodesOf(cluster: Cluster): unknown[] {
  const { startupNodes } = cluster as unknown as { startupNodes?: unknown };
  return Array.isArray(startupNodes) ? startupNodes : [];
}

function hostOf(node: unknown): string {
  if (typeof node === 'string' && URL.canParse(node)) return new URL(node).hostname;
  return (node as Partial<RedisOptions> | null)?.host ?? '';
}
