import {
  NotSentError,
  type ClusterClient,
  type Evaluated,
  type Route,
  type Word,
} from '../connection/client.js';
import { hashSlot } from '../connection/hash-slot.js';
import { isReply } from '../connection/reply-error.js';
import type { ClusterMap } from './cluster-map.js';
import { NodeRedisNode } from './node-redis-node.js';
import { Reconnecting } from './reconnecting.js';

/** The most ways that a script takes, as in node-redis. */
const MOST_WAYS = 16;
/** All of them together take less than an answer may. */
const AGAIN_MS = 10;

/** A Cluster over node-redis: a connection to each master. */
export class NodeRedisCluster extends Reconnecting implements ClusterClient {
  readonly topology = 'cluster';
  readonly reconnects = true;
  /** By address. */
  readonly #nodes = new Map<string, NodeRedisNode>();
  #refreshing: Promise<void> | undefined;

  constructor(
    private readonly map: ClusterMap,
    readonly route: Route,
  ) {
    super();
  }

  masterOf(slot: number): string | undefined {
    return this.map.masterOf(slot);
  }

  nodes(): readonly NodeRedisNode[] {
    return [...this.#nodes.values()];
  }

  get writesLate(): boolean {
    return this.nodes().some((node) => node.writesLate);
  }

  async send(command: string, ...words: Word[]): Promise<unknown> {
    const nodes = this.nodes();
    const node = nodes.find(({ isReady }) => isReady) ?? nodes[0];
    if (node === undefined) throw new Error('No node of the cluster is known');
    await node.connect();
    return node.send(command, ...words);
  }

  /** Never again after a connection broke: Redis may have executed it. */
  async evaluate(command: 'eval' | 'evalsha', words: Evaluated): Promise<unknown> {
    const slot = hashSlot(String(words[2] ?? ''));
    let asked: string | undefined;
    for (let way = 1; ; way += 1) {
      const address = asked ?? this.map.masterOf(slot);
      if (address === undefined) throw new Error('No node of the cluster has the slot');
      const node = this.#nodeAt(address);
      if (!node.isReady) await node.connect().catch(notSent);
      try {
        // Redis answers for a slot on its way to it only right after ASKING.
        if (asked !== undefined) node.send('asking').catch(() => undefined);
        return await node.evaluate(command, words);
      } catch (error) {
        if (way === MOST_WAYS) throw tooManyWays(error);
        asked = await this.#wayAfter(error, slot);
      }
    }
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh()
      .catch(() => undefined)
      .finally(() => {
        this.#refreshing = undefined;
      });
    return this.#refreshing;
  }

  protected override async attempt(): Promise<void> {
    try {
      await this.map.find();
      this.#follow();
    } catch (error) {
      this.onFailed(error);
      if (!this.hasEnded()) this.beginAgain();
    }
  }

  protected override close(): void {
    this.map.close();
    for (const node of this.nodes()) node.end();
  }

  /**
   * The node to send to after a refusal; undefined for the master of the slot.
   * @throws the error, unless Redis refused because of a moving slot
   */
  async #wayAfter(error: unknown, slot: number): Promise<string | undefined> {
    const message = isReply(error) ? (error as Error).message : '';
    const [, word, , address = ''] = /^(MOVED|ASK) (\d+) (\S+)$/.exec(message) ?? [];
    if (word === 'ASK') return address;
    if (word === 'MOVED') {
      await this.refresh();
      if (this.map.masterOf(slot) !== address && !address.startsWith(':')) {
        this.map.assign(slot, address);
        this.#follow();
      }
    } else if (/^(TRYAGAIN|CLUSTERDOWN)/.test(message)) {
      // The node may have left the Cluster.
      if (message.startsWith('CLUSTERDOWN')) void this.refresh();
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    } else throw error;
    return undefined;
  }

  async #refresh(): Promise<void> {
    if (this.hasEnded()) return;
    const ready = this.nodes().filter((node) => node.isReady);
    const one = ready[Math.floor(Math.random() * ready.length)];
    const answer = one === undefined ? this.map.find() : this.map.read(one);
    if (await answer.catch(() => this.map.find())) this.#follow();
  }

  /** The slots may have moved: connects to new masters, and leaves old ones. */
  #follow(): void {
    if (this.hasEnded()) return;
    const { addresses } = this.map;
    for (const [address, node] of this.#nodes) {
      if (addresses.has(address)) continue;
      this.#nodes.delete(address);
      node.end();
    }
    for (const address of addresses) this.#nodeAt(address);
    this.tell('refreshed');
    this.#judge();
  }

  #nodeAt(address: string): NodeRedisNode {
    const known = this.#nodes.get(address);
    if (known !== undefined) return known;
    const target = this.map.target(address);
    const node = new NodeRedisNode({
      ...{ topology: 'server', route: this.route, address },
      ...{ known: target, find: () => target },
    });
    this.#nodes.set(address, node);
    node.on('connected', () => {
      this.tell('connected');
    });
    node.on('ready', this.#judge);
    node.on('broken', this.#onBroken);
    node.on('failed', this.#onNodeFailed);
    if (this.hasEnded()) node.end();
    else node.connect().catch(() => undefined);
    return node;
  }

  readonly #onBroken = (): void => {
    if (this.hasEnded()) return;
    this.#judge();
    this.tell('broken');
    // A replica may be the master by now.
    void this.refresh();
  };

  readonly #onNodeFailed = (error: unknown): void => {
    this.onFailed(error);
    void this.refresh();
  };

  /** It is ready while one of its nodes is. */
  readonly #judge = (): void => {
    if (this.hasEnded()) return;
    const isReady = this.nodes().some((node) => node.isReady);
    if (isReady === this.isReady) return;
    if (isReady) this.becomeReady();
    else this.becomeAway();
  };
}

function notSent(cause: unknown): never {
  throw new NotSentError('There is no connection to the node', { cause });
}

/** In the words of ioredis, which `isMovingSlot` knows. */
function tooManyWays(error: unknown): unknown {
  if (!isReply(error)) return error;
  const last = (error as Error).message;
  return new Error(`Too many Cluster redirections. Last error: ReplyError: ${last}`);
}
