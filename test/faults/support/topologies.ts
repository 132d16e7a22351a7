import type { Redis } from 'ioredis';

import { hashSlot } from '../../../libs/redis-lock/src/connection/hash-slot.js';
import type { IoredisVersion } from '../../support/ioredis-versions.js';
import {
  ClusterGroup,
  killNode,
  MasterGroup,
  restartNode,
  SentinelGroup,
  type Node,
} from '../../support/topology.js';

/** Servers, and how applications come to them. */
export interface Topology {
  /** From this `connection` the library opens all of its own. For a cluster it takes a client. */
  readonly own?: () => unknown;
  /** A client of the application, which ends it. */
  connect(clients: IoredisVersion): unknown;
  /** Whether what was acknowledged is still there when a master was killed. */
  readonly keepsData: boolean;
  /** Whether every replica has a key of each of these names. */
  areReplicated(names: readonly string[]): Promise<boolean>;
  /** Ends a master as a crash would. */
  killMaster(): Promise<void>;
  /** Whether it was the master of this name. */
  isHit(name: string): boolean;
  /** How many replicas the master of this name has, once another one has taken over. */
  replicasOf(name: string): number;
  /** The keys that are left in Redis. */
  keys(): Promise<string[]>;
  /** Takes all of it away, while every master is there. */
  clear(): Promise<unknown>;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';

export async function startStandalone(): Promise<Topology> {
  const group = await MasterGroup.start(1);
  const [server] = group.masters as [Node];
  const options = { host: HOST, port: server.server.port };
  return {
    own: () => server.server.url,
    connect: ({ Redis }) => new Redis(options),
    keepsData: false,
    areReplicated: () => Promise.resolve(true),
    killMaster: () => restartNode(server),
    isHit: () => true,
    replicasOf: () => 0,
    keys: () => server.admin.keys('*'),
    clear: () => server.admin.flushall(),
    stop: () => group.stop(),
  };
}

export async function startSentinel(): Promise<Topology> {
  const group = await SentinelGroup.start();
  return {
    own: () => group.connection,
    connect: ({ Redis }) => new Redis(group.connection),
    keepsData: true,
    areReplicated: (names) => haveAll(group.replicas, names),
    killMaster: () => killNode(group.master),
    isHit: () => true,
    replicasOf: () => group.replicas.length - 1,
    keys: async () => (await group.present()).admin.keys('*'),
    clear: () => group.master.admin.flushall(),
    stop: () => group.stop(),
  };
}

export interface ClusterTopology extends Topology {
  readonly group: ClusterGroup;
}

export async function startCluster(): Promise<ClusterTopology> {
  const group = await ClusterGroup.start();
  const [victim] = group.masters as [Node];
  const slots = 16_384 / group.masters.length;
  const isHit = (name: string) => hashSlot(name) < slots;
  return {
    group,
    connect: ({ Cluster }) => new Cluster(group.addresses),
    keepsData: true,
    areReplicated: async (names) => {
      for (const [i, replica] of group.replicas.entries()) {
        const own = names.filter((name) => Math.floor(hashSlot(name) / slots) === i);
        if (!(await haveAll([replica], own))) return false;
      }
      return true;
    },
    killMaster: () => killNode(victim),
    isHit,
    replicasOf: (name) => (isHit(name) ? 0 : 1),
    keys: async () => {
      const alive = group.nodes.filter(({ admin }) => admin.status === 'ready');
      return (await Promise.all(alive.map(({ admin }) => admin.keys('*')))).flat();
    },
    clear: () => Promise.all(group.masters.map(({ admin }) => admin.flushall())),
    stop: () => group.stop(),
  };
}

async function haveAll(
  nodes: readonly { readonly admin: Redis }[],
  names: readonly string[],
): Promise<boolean> {
  for (const { admin } of nodes) {
    const keys = (await admin.keys('*')).join('\n');
    if (!names.every((name) => keys.includes(name))) return false;
  }
  return true;
}
