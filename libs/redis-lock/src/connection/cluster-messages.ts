import type { ChannelListener } from '../core/redis/connection.js';
import type { PublishMode } from '../core/redis/script.js';
import type { Clock, Timer } from '../core/time/clock.js';
import type { Random } from '../core/time/random.js';
import { nodeAt, type ClusterClient, type NodeClient } from './client.js';
import { hashSlot } from './hash-slot.js';
import { detectMode, type PublishOption } from './publish-mode.js';
import { Subscriber } from './subscriber.js';

/** The pause between two checks whether a Cluster has sharded messages, until it answers. */
const DETECT_AGAIN_MS = 250;
/** A plain message reaches the subscribers of every node. */
const ANY_NODE = '';

/** A listener, and the node of its subscription. */
interface Route {
  readonly channel: string;
  readonly slot: number;
  readonly listener: ChannelListener;
  node: string | undefined;
  stop: () => void;
}

/**
 * The messages of a Cluster. A sharded message reaches only subscribers on the master of its
 * channel's slot. So each master with listeners has a subscriber, which follows the slots.
 */
export class ClusterMessages {
  readonly #subscribers = new Map<string, Subscriber>();
  readonly #routes = new Set<Route>();
  #known: 'plain' | 'sharded' | 'both' | undefined;
  #isDetecting = false;
  #detectAgain: Timer | undefined;
  #isClosed = false;

  constructor(
    private readonly cluster: ClusterClient,
    publish: PublishOption,
    private readonly onTrouble: (error: unknown) => void,
    private readonly clock: Clock,
    private readonly random: Random,
  ) {
    if (publish !== 'auto') this.#known = publish;
    cluster.on('ready', this.#detect);
    cluster.on('refreshed', this.#follow);
    this.#detect();
  }

  /** Both ways, until the Cluster has answered which it has: no process must miss a release. */
  get mode(): PublishMode {
    return this.#known === 'plain' ? 'broadcast' : (this.#known ?? 'both');
  }

  /** Whether Redis has confirmed every channel on its right node. */
  get isHearing(): boolean {
    for (const { node } of this.#routes) if (node === undefined) return false;
    for (const subscriber of this.#subscribers.values()) if (!subscriber.isHearing) return false;
    return true;
  }

  listen(channel: string, listener: ChannelListener): () => void {
    const route: Route = {
      ...{ channel, slot: hashSlot(channel), listener },
      ...{ node: undefined, stop: () => undefined },
    };
    this.#routes.add(route);
    this.#send(route);
    return () => {
      this.#routes.delete(route);
      route.stop();
    };
  }

  close(): void {
    this.#isClosed = true;
    this.clock.cancel(this.#detectAgain);
    this.cluster.off('ready', this.#detect);
    this.cluster.off('refreshed', this.#follow);
    this.#routes.clear();
    for (const subscriber of this.#subscribers.values()) subscriber.close();
    this.#subscribers.clear();
  }

  readonly #detect = (): void => {
    if (this.#known !== undefined || this.#isDetecting || !this.cluster.isReady) return;
    this.#isDetecting = true;
    void detectMode(this.cluster, this.clock).then((mode) => {
      this.#isDetecting = false;
      if (this.#isClosed) return;
      this.#known = mode;
      if (mode === undefined) {
        this.#detectAgain = this.clock.after(DETECT_AGAIN_MS, this.#detect);
        this.#detectAgain?.unref();
      } else this.#follow();
    });
  };

  /**
   * Slots have moved, or a replica has become a master: listeners on a wrong node subscribe anew.
   */
  readonly #follow = (): void => {
    for (const route of this.#routes) this.#send(route);
    const inUse = new Set([...this.#routes].map(({ node }) => node));
    for (const [node, subscriber] of this.#subscribers) {
      if (inUse.has(node) || nodeAt(this.cluster, 'master', node) !== undefined) continue;
      this.#subscribers.delete(node);
      subscriber.close();
    }
  };

  #send(route: Route): void {
    const node = this.#nodeOf(route.slot);
    if (node === route.node) return;
    route.stop();
    route.listener.lost?.();
    route.node = node;
    route.stop =
      node === undefined
        ? () => undefined
        : this.#subscriberOn(node).listen(route.channel, route.listener);
  }

  /** Undefined while the node is unknown; the waiters poll meanwhile. */
  #nodeOf(slot: number): string | undefined {
    if (this.#known === undefined) return undefined;
    return this.#known === 'sharded' ? this.cluster.masterOf(slot) : ANY_NODE;
  }

  #subscriberOn(node: string): Subscriber {
    let subscriber = this.#subscribers.get(node);
    if (subscriber === undefined) {
      const open = () => this.#open(node);
      const onAstray = () => {
        void this.cluster.refresh();
      };
      const isPlain = node === ANY_NODE;
      subscriber = new Subscriber(open, this.onTrouble, this.clock, isPlain ? undefined : onAstray);
      this.#subscribers.set(node, subscriber);
    }
    return subscriber;
  }

  #open(node: string): NodeClient {
    const client =
      node === ANY_NODE
        ? sampleOf(this.cluster.nodes('all'), this.random)
        : nodeAt(this.cluster, 'all', node);
    if (client === undefined) throw new Error('The node of the cluster is unknown at present');
    return client.another('messages');
  }
}

function sampleOf<T>(list: readonly T[], random: Random): T | undefined {
  return list[Math.floor(random.number() * list.length)];
}
