import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

import { Cluster, Redis } from 'ioredis';

import { findRedisServer } from '../../scripts/find-redis-server.mjs';
import { freePort, startRedisServer, type RedisServer } from '../../scripts/redis-server.mjs';
import { eventually } from './eventually.js';
import { isBeforeRedis7 } from './server-facts.js';

const HOST = '127.0.0.1';
/** Time enough for servers to find each other. */
const FORMING_MS = 30_000;
const MEETING_MS = 10_000;

function connect(port: number): Redis {
  const client = new Redis({
    host: HOST,
    port,
    maxRetriesPerRequest: null,
    retryStrategy: () => 20,
  });
  client.on('error', () => undefined);
  return client;
}

function field(text: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1];
}

/** A server, and a client that looks at it. */
export interface Node {
  server: RedisServer;
  readonly admin: Redis;
}

async function startNode(args: string[]): Promise<Node> {
  const server = await startRedisServer({ args });
  return { server, admin: connect(server.port) };
}

/** Ends a server as a crash would. */
export async function killNode({ server, admin }: Node): Promise<void> {
  // First, because ioredis keeps a timer for what is disconnected when it has ended.
  if (admin.status === 'ready') admin.disconnect();
  await server.kill();
}

/** A crash, and a start without data on the same port. */
export async function restartNode(node: Node): Promise<void> {
  await node.server.kill();
  node.server = await startRedisServer({ port: node.server.port });
}

const QUICK_SYNC = ['--repl-diskless-sync-delay', '0'];

/** A master and its replicas. */
export class ReplicaGroup {
  protected constructor(
    readonly master: Node,
    readonly replicas: readonly Node[],
  ) {}

  static async start(count: number): Promise<ReplicaGroup> {
    const { master, replicas } = await startReplicas(count);
    return new ReplicaGroup(master, replicas);
  }

  async stop(): Promise<void> {
    await Promise.all([this.master, ...this.replicas].map(killNode));
  }
}

async function startReplicas(count: number): Promise<{ master: Node; replicas: Node[] }> {
  const master = await startNode(QUICK_SYNC);
  const args = [...QUICK_SYNC, '--replicaof', HOST, String(master.server.port)];
  const replicas = await Promise.all(Array.from({ length: count }, () => startNode(args)));
  await eventually(() => hasReplicas(master, count), { withinMs: FORMING_MS, everyMs: 20 });
  return { master, replicas };
}

/** Whether so many replicas have caught up with their master. */
export async function hasReplicas({ admin }: Node, count: number): Promise<boolean> {
  const replication = await admin.info('replication');
  if (replication.match(/state=online/g)?.length !== count) return false;
  // One that is online may still be loading: it has caught up when it confirms something new.
  await admin.publish('replicas', 'new');
  return (await admin.wait(count, 1_000)) === count;
}

/** Servers that know nothing of each other. */
export class MasterGroup {
  private constructor(readonly masters: readonly Node[]) {}

  static async start(count: number): Promise<MasterGroup> {
    return new MasterGroup(await Promise.all(Array.from({ length: count }, () => startNode([]))));
  }

  async stop(): Promise<void> {
    await Promise.all(this.masters.map(killNode));
  }
}

/** A master, two replicas of it, and three sentinels that watch them. */
export class SentinelGroup extends ReplicaGroup {
  static readonly NAME = 'locks';
  static readonly REPLICAS = 2;
  readonly #sentinels: ChildProcessByStdio<Writable, null, null>[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'sentinels-'));
  readonly #ports: number[] = [];

  static override async start(): Promise<SentinelGroup> {
    const { master, replicas } = await startReplicas(SentinelGroup.REPLICAS);
    const group = new SentinelGroup(master, replicas);
    for (let i = 0; i < 3; i++) await group.#startSentinel();
    await eventually(() => group.#isFormed(), { withinMs: FORMING_MS, everyMs: 50 });
    return group;
  }

  /** The `connection` of an application. */
  get connection() {
    const sentinels = this.#ports.map((port) => ({ host: HOST, port }));
    return { sentinels, name: SentinelGroup.NAME };
  }

  /** The master of the moment, as the sentinels see it: a deposed one may think that it is still. */
  async present(): Promise<Node> {
    for (const port of this.#ports) {
      const [, present] = await this.#ask<[string, string]>(port, 'GET-MASTER-ADDR-BY-NAME');
      const node = [this.master, ...this.replicas].find(
        ({ server }) => String(server.port) === present,
      );
      if (node === undefined || node.admin.status !== 'ready') continue;
      if (field(await node.admin.info('replication'), 'role') === 'master') return node;
    }
    throw new Error('There is no master at present');
  }

  /** The first sentinel accepts connections and answers nothing, until the returned function is called. */
  async silenceFirst(): Promise<() => void> {
    const [port = 0] = this.#ports;
    const sentinel = connect(port);
    const pid = Number(field(await sentinel.info('server'), 'process_id'));
    sentinel.disconnect();
    process.kill(pid, 'SIGSTOP');
    return () => process.kill(pid, 'SIGCONT');
  }

  override async stop(): Promise<void> {
    for (const sentinel of this.#sentinels) {
      sentinel.stdin.end();
      if (sentinel.exitCode === null) await once(sentinel, 'exit');
    }
    await super.stop();
    rmSync(this.#folder, { recursive: true });
  }

  async #startSentinel(): Promise<void> {
    const { command, env } = await findRedisServer();
    const port = await freePort();
    const file = join(this.#folder, `${String(port)}.conf`);
    const name = SentinelGroup.NAME;
    const lines = [
      ...[`port ${String(port)}`, `bind ${HOST}`, `dir ${this.#folder}`],
      `sentinel monitor ${name} ${HOST} ${String(this.master.server.port)} 2`,
      // On a busy machine a server that lives may be silent for longer than a second.
      `sentinel down-after-milliseconds ${name} 3000`,
      `sentinel failover-timeout ${name} 5000`,
    ];
    writeFileSync(file, lines.join('\n'));
    // A sentinel wants a file as its first argument, which startRedisServer does not give. The shell
    // ends it when the pipe closes, however this process ends.
    const script =
      'trap "" INT TERM HUP; "$1" "$2" --sentinel & server=$!; cat > /dev/null; kill -9 "$server"';
    const sentinel = spawn('/bin/sh', ['-c', script, 'sentinel', command, file], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#sentinels.push(sentinel);
    this.#ports.push(port);
  }

  async #isFormed(): Promise<boolean> {
    for (const port of this.#ports) {
      const state = await this.#ask<string[]>(port, 'MASTER');
      const of = (name: string) => state[state.indexOf(name) + 1];
      const isComplete = of('num-slaves') === String(SentinelGroup.REPLICAS);
      if (!isComplete || of('num-other-sentinels') !== '2') return false;
    }
    return true;
  }

  async #ask<Answer>(port: number, question: string): Promise<Answer> {
    const sentinel = connect(port);
    try {
      return (await sentinel.call('SENTINEL', question, SentinelGroup.NAME)) as Answer;
    } finally {
      sentinel.disconnect();
    }
  }
}

const SLOTS = 16_384;

interface ClusterShape {
  masters?: number;
  /** Whether each master has a replica. */
  replicated?: boolean;
}

/** Three masters with a replica each, unless asked for otherwise. */
export class ClusterGroup {
  private constructor(
    readonly masters: readonly Node[],
    readonly replicas: readonly Node[],
  ) {}

  static async start({ masters = 3, replicated = true }: ClusterShape = {}): Promise<ClusterGroup> {
    const length = replicated ? 2 * masters : masters;
    const nodes = await Promise.all(Array.from({ length }, () => startClusterNode(replicated)));
    const [first, ...others] = nodes;
    const group = new ClusterGroup(
      nodes.slice(0, masters).map(({ node }) => node),
      nodes.slice(masters).map(({ node }) => node),
    );
    for (const [i, { admin }] of group.masters.entries()) {
      const [from = 0, end = 0] = [i, i + 1].map((part) => Math.ceil((part * SLOTS) / masters));
      await addSlots(admin, from, end - 1);
      // Different epochs from the start, so that the nodes need not settle that among themselves.
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));
    }
    const meet = async () => {
      for (const { node, busPort } of others) {
        const address = [HOST, String(node.server.port), String(busPort)];
        await first?.node.admin.call('CLUSTER', 'MEET', ...address);
      }
      await eventually(() => group.#knowEachOther(), { withinMs: MEETING_MS, everyMs: 50 });
    };
    // Redis forgets a node that it has met, and that does not answer within `cluster-node-timeout`.
    await eventually(meet, { withinMs: FORMING_MS });
    for (const [i, { admin }] of group.replicas.entries()) {
      await admin.call('CLUSTER', 'REPLICATE', await idOf(group.masters[i] as Node));
    }
    await eventually(() => group.#isFormed(), { withinMs: FORMING_MS, everyMs: 50 });
    return group;
  }

  get nodes(): Node[] {
    return [...this.masters, ...this.replicas];
  }

  /** The client of a caller begins with these addresses. */
  get addresses() {
    return this.masters.map(({ server }) => ({ host: HOST, port: server.port }));
  }

  /** A client as callers make it. */
  connect(redisOptions: { username?: string; password?: string } = {}): Cluster {
    const client = new Cluster(this.addresses, { redisOptions });
    client.on('error', () => undefined);
    return client;
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map(killNode));
  }

  /** The master of a slot, as the nodes see it that are alive. */
  async masterOf(slot: number): Promise<Node> {
    const { admin } = this.nodes.find((node) => node.admin.status === 'ready') as Node;
    const ranges = await admin.cluster('SLOTS');
    const range = ranges.find(([from, to]) => from <= slot && slot <= to);
    const port = (range?.[2] as unknown[] | undefined)?.[1];
    return this.nodes.find(({ server }) => server.port === port) as Node;
  }

  /** Moves a slot with all that is in it, as an operator does; clients go on meanwhile. */
  async moveSlot(slot: number, to: Node, halfWay?: () => Promise<unknown>): Promise<void> {
    const from = await this.masterOf(slot);
    const [source, target] = [await idOf(from), await idOf(to)];
    await to.admin.call('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', source);
    await from.admin.call('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', target);
    const rest = async () =>
      (await from.admin.call('CLUSTER', 'GETKEYSINSLOT', String(slot), '100')) as string[];
    for (let keys = await rest(); keys.length > 0; keys = await rest()) {
      const place = [HOST, String(to.server.port), '', '0', '5000'];
      await from.admin.call('MIGRATE', ...place, 'KEYS', ...keys);
    }
    await halfWay?.();
    for (const { admin } of [to, from]) {
      await admin.call('CLUSTER', 'SETSLOT', String(slot), 'NODE', target);
    }
  }

  /** How many connections listen to a channel, on whatever node and by whatever command. */
  async listeners(channel: string): Promise<number> {
    let sum = 0;
    for (const { admin } of this.nodes) {
      if (admin.status !== 'ready') continue;
      const [, count] = await admin.pubsub('NUMSUB', channel);
      sum += Number(count);
      if (isBeforeRedis7) continue;
      const [, sharded] = (await admin.call('PUBSUB', 'SHARDNUMSUB', channel)) as unknown[];
      sum += Number(sharded);
    }
    return sum;
  }

  async #knowEachOther(): Promise<boolean> {
    for (const { admin } of this.nodes) {
      const info = await admin.cluster('INFO');
      if (field(info, 'cluster_known_nodes') !== String(this.nodes.length)) return false;
    }
    return true;
  }

  async #isFormed(): Promise<boolean> {
    for (const { admin } of this.nodes) {
      const info = await admin.cluster('INFO');
      if (field(info, 'cluster_state') !== 'ok') return false;
      // The state is ok without them: these nodes need not know the masters of all slots.
      if (field(info, 'cluster_slots_assigned') !== String(SLOTS)) return false;
    }
    const replicas = this.replicas.length / this.masters.length;
    for (const master of replicas > 0 ? this.masters : []) {
      if (!(await hasReplicas(master, replicas))) return false;
    }
    return true;
  }
}

async function idOf({ admin }: Node): Promise<string> {
  return String(await admin.call('CLUSTER', 'MYID'));
}

/** Both ends included. */
export async function addSlots(admin: Redis, from: number, to: number): Promise<void> {
  const slots = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  await admin.call('CLUSTER', 'ADDSLOTS', ...slots);
}

interface ClusterNode {
  node: Node;
  busPort: number;
}

async function startClusterNode(replicated: boolean): Promise<ClusterNode> {
  const { args, busPortOf } = await clusterBus();
  const node = await startNode([
    ...['--cluster-enabled', 'yes', ...args],
    // Without a replica nothing is won by it, and a busy machine stands still for seconds.
    ...['--cluster-node-timeout', replicated ? '1000' : '5000'],
    ...['--cluster-require-full-coverage', 'no'],
    ...QUICK_SYNC,
  ]);
  return { node, busPort: busPortOf(node.server.port) };
}

/** Redis before 7 has no option for the port, and always takes the one 10,000 above its own. */
export async function clusterBus() {
  if (isBeforeRedis7) return { args: [], busPortOf: (port: number) => port + 10_000 };
  const busPort = await freePort();
  return { args: ['--cluster-port', String(busPort)], busPortOf: () => busPort };
}
