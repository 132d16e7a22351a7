import type { Clock } from '../core/time/clock.js';
import { isCluster, type ClusterClient } from '../connection/client.js';
import { detectMode } from '../connection/publish-mode.js';
import type { Server } from '../connection/cli-target.js';
import { ask, askText, field, textOf } from './answers.js';
import { judgeClocks, offsetOf, rounded, type Offset } from './clocks.js';
import { fail, ok, unchecked, warn, type Finding } from './finding.js';
import { Probe } from './probe.js';
import { tryRights } from './rights.js';
import { connect, nodesOf, type Node } from './server.js';
import { CONFIG, judgeSettings, type Facts } from './settings.js';

export interface Examination {
  readonly servers: readonly Server[];
  readonly keyPrefix: string;
  readonly clock: Clock;
  /** Whether the application leaves ioredis' check on, as by default. */
  readonly checksReady: boolean;
}

const PINGS = 5;
/** A lock takes at least two round trips. */
const SLOW_MS = 100;

/**
 * Checks everything that locks depend on, one finding after the other. It writes only a probe: a
 * lock with a name of its own. Without a release the probe expires after 10 s.
 * @throws {UnreachableError} a server does not answer
 * @throws {ReplyError} a server refuses every client, or this user
 */
export async function* examine(examination: Examination): AsyncGenerator<Finding> {
  const { servers, keyPrefix, clock, checksReady } = examination;
  const offsets: (Offset | undefined)[] = [];
  for (const server of servers) yield judgePrefix(server, keyPrefix);
  for (const server of servers) {
    await connect(server);
    const unready = checksReady ? await judgeReady(server) : undefined;
    if (isCluster(server.client)) yield* examineCluster(server.client, clock);
    const nodes = nodesOf(server);
    const isOne = servers.length === 1 && nodes.length === 1;
    const probe = new Probe(server, keyPrefix, clock);
    try {
      for (const node of nodes) {
        for await (const finding of examineNode(node, server, probe, { ...examination, unready })) {
          yield isOne ? finding : { ...finding, node: node.name };
        }
        offsets.push(await offsetOf(node.name, node.client, clock));
      }
    } finally {
      await probe.close();
    }
  }
  yield* judgeClocks(offsets);
}

function judgePrefix({ refusedPrefix }: Server, keyPrefix: string): Finding {
  const check = 'keyPrefix';
  if (refusedPrefix !== undefined) {
    return fail(
      check,
      `the url sets ioredis' keyPrefix ${JSON.stringify(refusedPrefix)}, which changes keys but not channels; RedisLockModule refuses such a client at start`,
      'remove it from the url, and set keyPrefix of RedisLockModule (here: --key-prefix)',
    );
  }
  const ours = keyPrefix === '' ? 'no prefix' : `the prefix ${JSON.stringify(keyPrefix)}`;
  return ok(check, `names of locks have ${ours}; the url sets no keyPrefix`);
}

async function* examineNode(
  { name, client }: Node,
  server: Server,
  probe: Probe,
  { keyPrefix, clock, unready }: Examination & { readonly unready: Finding | undefined },
): AsyncGenerator<Finding> {
  yield await judgePing(client, clock);
  const asCluster = isCluster(server.client);
  const settings = judgeSettings(await factsOf(client, asCluster));
  yield* settings;
  const isHopeless = settings.some(({ check, status }) => check === 'role' && status === 'fail');
  const lockName = probe.nameOn(name);
  const lease = isHopeless ? undefined : (unready ?? (await probe.take(lockName)));
  const isHeld = lease !== undefined && 'release' in lease;
  const key = keyPrefix + lockName;
  yield* await tryRights(client, {
    ...{ key: `${key}:trial`, held: isHeld ? key : undefined },
    ...{ keyPrefix, isCluster: asCluster },
  });
  if (isHeld) yield* await probe.giveBack(lease);
  else if (lease !== undefined) yield lease;
}

/** Connects as an application does, which waits for the answer to INFO, or to CLUSTER INFO. */
async function judgeReady(server: Server): Promise<Finding | undefined> {
  const asCluster = isCluster(server.client);
  const [command, part] = asCluster
    ? (['cluster', 'info'] as const)
    : (['info', 'server'] as const);
  const answer = await ask(server.client, command, part).catch(() => ({ refusal: '' }));
  const said = 'refusal' in answer ? answer.refusal : String(answer.value);
  // Without the right to INFO ioredis goes on. A Cluster that fails has a finding of its own.
  if (said.includes(asCluster ? 'cluster_state:fail' : 'NOPERM')) return undefined;
  const client = server.checked();
  try {
    await connect({ name: server.name, client });
    return undefined;
  } catch (error) {
    return fail(
      'lock',
      `ioredis does not become ready: ${textOf(error)}; every call would end with LOCK_BACKEND`,
      'set enableReadyCheck: false in the options of ioredis, and check with --no-ready-check',
    );
  } finally {
    client.end();
  }
}

async function judgePing(client: Node['client'], clock: Clock): Promise<Finding> {
  let bestMs = Infinity;
  for (let i = 0; i < PINGS; i++) {
    const start = clock.now();
    await ask(client, 'ping');
    bestMs = Math.min(bestMs, clock.now() - start);
  }
  const found = `${rounded(bestMs)}, the best of ${String(PINGS)}`;
  if (bestMs <= SLOW_MS) return ok('ping', found);
  const fix = 'move Redis closer to its services: a lock takes at least two round trips';
  return warn('ping', found, fix);
}

async function factsOf(client: Node['client'], asCluster: boolean): Promise<Facts> {
  const info = await askText(client, 'info');
  const config = new Map<string, string>();
  for (const name of CONFIG) {
    const answer = await ask(client, 'config', 'get', name);
    // The server would refuse all of them like the first, and log each refusal.
    if ('refusal' in answer) break;
    const [, value] = pairOf(answer.value);
    if (value !== undefined) config.set(name, value);
  }
  return { info, config, asCluster };
}

/** RESP2 has a list, RESP3 a map. */
function pairOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String);
  return value instanceof Object ? Object.entries(value).flat().map(String) : [];
}

const SLOTS = '16384';

async function* examineCluster(cluster: ClusterClient, clock: Clock): AsyncGenerator<Finding> {
  const check = 'cluster';
  const info = await askText(cluster, 'cluster', 'info');
  if (info === undefined) {
    yield unchecked(check, 'CLUSTER INFO is refused', 'ACL SETUSER … +cluster|info');
  } else {
    const state = field(info, 'cluster_state') ?? 'unknown';
    const slots = field(info, 'cluster_slots_ok') ?? '0';
    const found = `state ${state}, ${slots} of ${SLOTS} slots served`;
    yield state === 'ok' && slots === SLOTS
      ? ok(check, found)
      : fail(check, found, 'locks in a slot that no node serves fail: redis-cli --cluster fix');
  }
  const mode = await detectMode(cluster, clock);
  if (mode === 'sharded') yield ok('publish', 'sharded messages (publish: auto uses them)');
  else {
    const found = 'no sharded messages: every release reaches every node';
    yield warn('publish', found, 'Redis 7, and ACL SETUSER … +pubsub|shardnumsub');
  }
}
