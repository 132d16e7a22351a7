import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, startRedisServer } from '../../scripts/redis-server.mjs';
import { now } from '../clock.mjs';
import { pin } from '../machine.mjs';
import { RedisProbe } from '../redis-probe.mjs';
import { HOST } from '../terms.mjs';

const SLOTS = 16_384;
const FORMING_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** One server, or the masters of a Cluster. The crew uses it as the probe of all of them. */
export class Masters {
  #nodes;

  /** @param {number | undefined} core where the server stays */
  static async single(core) {
    return new Masters([await startNode([], core)]);
  }

  /** @param {number} count @param {number | undefined} core where all of them stay */
  static async cluster(count, core) {
    const masters = new Masters(
      await Promise.all(Array.from({ length: count }, () => startClusterNode(core))),
    );
    await masters.#form();
    return masters;
  }

  constructor(nodes) {
    this.#nodes = nodes;
  }

  get ports() {
    return this.#nodes.map(({ server }) => server.port);
  }

  /** The probe of the first server. */
  get probe() {
    return this.#nodes[0].probe;
  }

  look() {
    return this.#all(async ({ probe, admin, isCluster }) => ({
      report: await probe.look(),
      bus: isCluster ? await admin.cluster('INFO') : '',
    }));
  }

  /** The work of all masters together, and of each. */
  difference(before, after) {
    const each = this.#nodes.map(({ probe }, i) => ({
      ...probe.difference(before[i].report, after[i].report),
      received: receivedBy(after[i].bus) - receivedBy(before[i].bus),
    }));
    const total = (measure) => each.reduce((sum, its) => sum + its[measure], 0);
    return {
      ...Object.fromEntries(Object.keys(each[0]).map((measure) => [measure, total(measure)])),
      each,
    };
  }

  clean() {
    return this.#all(({ admin }) => admin.flushall());
  }

  /** The names that belong to the first master. */
  async ofFirst(names) {
    const [{ admin }] = this.#nodes;
    const slots = await Promise.all(names.map((name) => admin.cluster('KEYSLOT', name)));
    const end = slotsOf(0, this.#nodes.length).end;
    return names.filter((_, i) => slots[i] < end);
  }

  /** The connections to each master, the two of the bench itself included. */
  async connections() {
    const lists = await this.#all(({ admin }) => admin.client('LIST'));
    return lists.map((list) => {
      const bytes = [...list.matchAll(/ tot-mem=(\d+)/g)].map(([, text]) => Number(text));
      return { count: bytes.length, bytes: bytes.reduce((sum, it) => sum + it, 0) };
    });
  }

  /** How many processes stand in queues. */
  async queued() {
    const keys = await this.#all(({ admin }) => admin.keys('nestjs_lock_queue:*'));
    return keys.flat().length;
  }

  /** Bytes that the data and the connections of the first server take. */
  async memory() {
    const info = await this.#nodes[0].admin.info('memory');
    return Number(/^used_memory:(\d+)/m.exec(info)[1]);
  }

  async stop() {
    await this.#all(async ({ server, admin, probe }) => {
      admin.disconnect();
      probe.close();
      await server.stop();
    });
  }

  async #form() {
    const [, ...others] = this.#nodes;
    for (const [i, { admin }] of this.#nodes.entries()) {
      const { from, end } = slotsOf(i, this.#nodes.length);
      const slots = Array.from({ length: end - from }, (_, slot) => from + slot);
      await admin.call('CLUSTER', 'ADDSLOTS', ...slots);
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));
    }
    for (const { server, busPort } of others) {
      const address = [HOST, server.port, busPort].map(String);
      await this.#nodes[0].admin.call('CLUSTER', 'MEET', ...address);
    }
    const isFormed = async () => {
      const reports = await this.#all(({ admin }) => admin.cluster('INFO'));
      const known = `cluster_known_nodes:${reports.length}\r`;
      return reports.every((it) => it.includes(known) && it.includes('cluster_state:ok'));
    };
    await eventually(isFormed, 'the Cluster did not form');
  }

  #all(work) {
    return Promise.all(this.#nodes.map(work));
  }
}

async function startNode(args, core) {
  const server = await startRedisServer({ args });
  if (core !== undefined) pin(server.pid, core);
  return { server, admin: new Redis(server.port, HOST), probe: await RedisProbe.at(server.port) };
}

async function startClusterNode(core) {
  const busPort = await freePort();
  // A master that has met no other does not know its own address.
  const known = ['--cluster-announce-ip', HOST, '--cluster-port', String(busPort)];
  const args = ['--cluster-enabled', 'yes', ...known];
  return { ...(await startNode(args, core)), busPort, isCluster: true };
}

/** The slots of a master, without the end. */
function slotsOf(master, masters) {
  const [from, end] = [master, master + 1].map((part) => Math.ceil((part * SLOTS) / masters));
  return { from, end };
}

/** Messages that came from other nodes, of both kinds. */
function receivedBy(bus) {
  const counts = [...bus.matchAll(/^cluster_stats_messages_publish(?:shard)?_received:(\d+)/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** @param {() => Promise<boolean>} isSo @param {string} otherwise */
export async function eventually(isSo, otherwise) {
  const over = now() + FORMING_MS;
  while (!(await isSo())) {
    if (now() > over) throw new Error(otherwise);
    await sleep(LOOK_EVERY_MS);
  }
}
