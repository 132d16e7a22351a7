import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

import { Cluster, Redis } from 'ioredis';

import { findRedisServer } from '../../../scripts/find-redis-server.mjs';
import { freePort, startRedisServer, type RedisServer } from '../../../scripts/redis-server.mjs';
import { eventually } from '../../support/eventually.js';

const HOST = '127.0.0.1';
/** Time enough for servers to find each other. */
const FORMING_MS = 30_000;

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
  readonly server: RedisServer;
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

/** A master, a replica of it, and three sentinels that watch both. */
export class SentinelGroup {
  static readonly NAME = 'locks';
  readonly #sentinels: ChildProcessByStdio<Writable, null, null>[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'sentinels-'));
  readonly #ports: number[] = [];

  private constructor(
    readonly master: Node,
    readonly replica: Node,
  ) {}

  static async start(): Promise<SentinelGroup> {
    const quickSync = ['--repl-diskless-sync-delay', '0'];
    const master = await startNode(quickSync);
    const replicaOf = ['--replicaof', `${HOST} ${String(master.server.port)}`];
    const group = new SentinelGroup(master, await startNode([...quickSync, ...replicaOf]));
    for (let i = 0; i < 3; i++) await group.#startSentinel();
    await eventually(() => group.#isFormed(), { withinMs: FORMING_MS, everyMs: 50 });
    return group;
  }

  /** The `connection` of an application. */
  get connection() {
    const sentinels = this.#ports.map((port) => ({ host: HOST, port }));
    return { sentinels, name: SentinelGroup.NAME };
  }

  async stop(): Promise<void> {
    for (const sentinel of this.#sentinels) {
      sentinel.stdin.end();
      if (sentinel.exitCode === null) await once(sentinel, 'exit');
    }
    await Promise.all([this.master, this.replica].map(killNode));
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
      `sentinel down-after-milliseconds ${name} 1000`,
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
    const replication = await this.replica.admin.info('replication');
    if (field(replication, 'master_link_status') !== 'up') return false;
    for (const port of this.#ports) {
      const sentinel = connect(port);
      try {
        const state = (await sentinel.call('SENTINEL', 'MASTER', SentinelGroup.NAME)) as string[];
        const of = (name: string) => state[state.indexOf(name) + 1];
        if (of('num-slaves') !== '1' || of('num-other-sentinels') !== '2') return false;
      } finally {
        sentinel.disconnect();
      }
    }
    return true;
  }
}

const SLOTS = 16_384;

/** Three masters with a replica each. */
export class ClusterGroup {
  private constructor(
    readonly masters: readonly Node[],
    readonly replicas: readonly Node[],
  ) {}

  static async start(): Promise<ClusterGroup> {
    const nodes = await Promise.all(Array.from({ length: 6 }, () => startClusterNode()));
    const [first, ...others] = nodes.map(({ node }) => node);
    const group = new ClusterGroup(
      nodes.slice(0, 3).map(({ node }) => node),
      nodes.slice(3).map(({ node }) => node),
    );
    for (const [i, { admin }] of group.masters.entries()) {
      const slots = [Math.ceil((i * SLOTS) / 3), Math.ceil(((i + 1) * SLOTS) / 3) - 1];
      await admin.call('CLUSTER', 'ADDSLOTSRANGE', ...slots.map(String));
      // Different epochs from the start, so that the nodes need not settle that among themselves.
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));
    }
    for (const [i] of others.entries()) {
      const { node, busPort } = nodes[i + 1] as ClusterNode;
      const address = [HOST, String(node.server.port), String(busPort)];
      await first?.admin.call('CLUSTER', 'MEET', ...address);
    }
    const knowEachOther = async () => {
      for (const { node } of nodes) {
        const info = await node.admin.cluster('INFO');
        if (field(info, 'cluster_known_nodes') !== '6') return false;
      }
      return true;
    };
    await eventually(knowEachOther, { withinMs: FORMING_MS, everyMs: 50 });
    for (const [i, { admin }] of group.replicas.entries()) {
      const master = String(await group.masters[i]?.admin.call('CLUSTER', 'MYID'));
      await admin.call('CLUSTER', 'REPLICATE', master);
    }
    await eventually(() => group.#isFormed(), { withinMs: FORMING_MS, everyMs: 50 });
    return group;
  }

  /** A client as callers make it. */
  connect(): Cluster {
    const client = new Cluster(
      this.masters.map(({ server }) => ({ host: HOST, port: server.port })),
    );
    client.on('error', () => undefined);
    return client;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.masters, ...this.replicas].map(killNode));
  }

  /** How many connections listen to a channel, on whatever node. */
  async listeners(channel: string): Promise<number> {
    let sum = 0;
    for (const { admin } of [...this.masters, ...this.replicas]) {
      if (admin.status !== 'ready') continue;
      const [, count] = await admin.pubsub('NUMSUB', channel);
      sum += Number(count);
    }
    return sum;
  }

  async #isFormed(): Promise<boolean> {
    for (const { admin } of [...this.masters, ...this.replicas]) {
      const info = await admin.cluster('INFO');
      if (field(info, 'cluster_state') !== 'ok') return false;
    }
    for (const { admin } of this.replicas) {
      const replication = await admin.info('replication');
      if (field(replication, 'master_link_status') !== 'up') return false;
    }
    for (const { admin } of this.masters) {
      const replication = await admin.info('replication');
      if (!replication.includes('state=online')) return false;
    }
    return true;
  }
}

interface ClusterNode {
  node: Node;
  busPort: number;
}

async function startClusterNode(): Promise<ClusterNode> {
  const busPort = await freePort();
  const node = await startNode([
    ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
    ...['--cluster-node-timeout', '1000', '--cluster-require-full-coverage', 'no'],
    ...['--repl-diskless-sync-delay', '0'],
  ]);
  return { node, busPort };
}
