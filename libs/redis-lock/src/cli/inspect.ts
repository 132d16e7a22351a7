import { tokenKey } from '../primitives/lua/fencing-token.js';
import { queueKeys, type QueueKind } from '../primitives/lua/hand-off.js';
import { isReply } from '../ioredis/reply-error.js';
import { queueKeys as fairQueueKeys } from '../primitives/fair-lock/footprint.js';
import { readerLeaseKey, turnKeys } from '../primitives/read-write-lock/footprint.js';
import { leasesKey, waitingKey } from '../primitives/semaphore/footprint.js';
import { NO_LEASE } from '../primitives/semaphore/permits.scripts.js';
import {
  pairsOf,
  scoreOf,
  scoresIn,
  SHOWN,
  textOf,
  timeOf,
  ttlOf,
  UnreachableError,
  type Client,
} from './answers.js';
import type { Holder, Inspection, Kind, Permits, Queue, Token, Waiter } from './inspection.js';

/**
 * Reads all keys of a name in Redis, and changes nothing. It reads one key after the other: a lock
 * that is handed over meanwhile may appear in two places or in none.
 */
export async function inspect(node: string, client: Client, key: string): Promise<Inspection> {
  try {
    return await read(node, client, key);
  } catch (error) {
    if (isReply(error)) throw error;
    throw new UnreachableError(textOf(error));
  }
}

async function read(node: string, client: Client, key: string): Promise<Inspection> {
  const nowMs = await timeOf(client);
  const type = await client.type(key);
  const fields = type === 'hash' ? await fieldsOf(client, key) : {};
  const text = type === 'string' ? ((await client.get(key)) ?? '') : '';
  const permits = await permitsOf(client, key, text, nowMs);
  const token = await tokenOf(client, key);
  const queues = await queuesOf(client, key, nowMs);
  const holders = await holdersOf(client, key, fields);
  const { mode } = fields;
  const isFair = queues.some(({ what }) => what === 'fair queue');
  const kind = kindOf({ type, fields, text, isFair, hasPermits: permits !== undefined });
  return {
    ...{ node, key, kind, type },
    ttlMs: await ttlOf(client, key),
    holders: kind === 'unknown' ? [] : holders,
    ...(kind === 'read-write lock' && { mode: mode === 'write' ? 'write' : 'read' }),
    ...(permits !== undefined && { permits }),
    ...(kind === 'count' && { count: Number(text) }),
    ...(token !== undefined && { token }),
    queues,
  };
}

/** The first fields of a long hash, and those that tell its kind. */
async function fieldsOf(client: Client, key: string): Promise<Record<string, string>> {
  if ((await client.hlen(key)) <= SHOWN) return client.hgetall(key);
  const mode = await client.hget(key, 'mode');
  const [, flat] = await client.hscan(key, 0, 'COUNT', String(2 * SHOWN));
  return { ...(mode !== null && { mode }), ...Object.fromEntries(pairsOf(flat)) };
}

interface Look {
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly text: string;
  readonly isFair: boolean;
  readonly hasPermits: boolean;
}

function kindOf({ type, fields, text, isFair, hasPermits }: Look): Kind {
  const isCount = COUNT.test(text);
  if (hasPermits && (type === 'none' || isCount)) return 'semaphore';
  if (type === 'none') return isFair ? 'fair lock' : 'free';
  if (type === 'string') return isCount ? 'count' : 'unknown';
  const { mode, ...holders } = fields;
  if (!Object.values(holders).every((count) => COUNT.test(count))) return 'unknown';
  const names = Object.keys(holders);
  if (mode === 'read' || mode === 'write') {
    return names.length > 0 ? 'read-write lock' : 'unknown';
  }
  const [owner = ''] = names;
  if (mode !== undefined || names.length !== 1 || !OWNER.test(owner)) return 'unknown';
  return isFair ? 'fair lock' : 'lock';
}

const COUNT = /^(0|-?[1-9]\d{0,14})$/;
const OWNER = /^(.*):(-?\d+)$/;
const WRITER = /^(.*:-?\d+):write$/;

async function holdersOf(
  client: Client,
  key: string,
  fields: Readonly<Record<string, string>>,
): Promise<Holder[]> {
  const isReadWrite = 'mode' in fields;
  const holders = Object.entries(fields).filter(([name]) => name !== 'mode');
  const reading = holders.slice(0, SHOWN).map(async ([name, value]): Promise<Holder> => {
    const writer = WRITER.exec(name)?.[1];
    const owner = writer ?? name;
    const [, id = owner, number = ''] = OWNER.exec(owner) ?? [];
    const count = Number(value);
    const holder = { owner, client: id, number, count };
    if (!isReadWrite) return holder;
    if (writer !== undefined) return { ...holder, side: 'write' };
    return { ...holder, side: 'read', ttlMs: await readerTtl(client, key, owner, count) };
  });
  return Promise.all(reading);
}

/** A reader is alive as long as the longest of its holds. */
async function readerTtl(
  client: Client,
  key: string,
  owner: string,
  count: number,
): Promise<number | null> {
  const holds = Array.from({ length: Math.min(count, SHOWN) }, (_, i) =>
    ttlOf(client, readerLeaseKey(key, owner, i + 1)),
  );
  const ttls = (await Promise.all(holds)).filter((ttl) => ttl !== null);
  return ttls.length === 0 ? null : Math.max(...ttls);
}

async function permitsOf(
  client: Client,
  key: string,
  counter: string,
  nowMs: number,
): Promise<Permits | undefined> {
  const leases = leasesKey(key);
  if ((await client.type(leases)) !== 'zset') return undefined;
  const flat = await client.zrangeBuffer(leases, 0, String(SHOWN - 1), 'WITHSCORES');
  const shown = pairsOf(flat).map(([id, score]) => {
    const ends = scoreOf(score);
    const ttlMs = ends >= Number(NO_LEASE) ? null : Math.max(0, ends - nowMs);
    return { id: id.toString('hex'), ttlMs };
  });
  return {
    available: COUNT.test(counter) ? Number(counter) : null,
    used: await client.zcard(leases),
    expired: await client.zcount(leases, '-inf', nowMs),
    leases: shown,
  };
}

async function tokenOf(client: Client, key: string): Promise<Token | undefined> {
  const token = tokenKey(key);
  if ((await client.type(token)) !== 'string') return undefined;
  const value = await client.get(token);
  if (value === null) return undefined;
  return { key: token, value, ttlMs: await ttlOf(client, token) };
}

/** Everybody who waits for the lock, by each of the queues that it may have. */
async function queuesOf(client: Client, key: string, nowMs: number): Promise<Queue[]> {
  const turns = turnKeys(key);
  const queues = await Promise.all([
    fairQueue(client, key, nowMs),
    line(client, key, 'lock', nowMs),
    line(client, key, 'rwlock', nowMs),
    rememberedIn(client, 'readers whose turn it is', turns.turn, nowMs),
    rememberedIn(client, 'writers', turns.writers, nowMs),
    rememberedIn(client, 'readers', turns.readers, nowMs),
    largeRequest(client, key),
  ]);
  return queues.filter((queue) => queue !== undefined && queue.length > 0) as Queue[];
}

/** Owners in their order; those of Node with what they have written of themselves. */
async function fairQueue(client: Client, key: string, nowMs: number): Promise<Queue | undefined> {
  const { queue, timeouts, waiting } = fairQueueKeys(key);
  if ((await client.type(queue)) !== 'list') return undefined;
  const owners = await client.lrange(queue, 0, SHOWN - 1);
  const waiters = owners.map(async (who, i): Promise<Waiter> => {
    const [record, life] = await client.hmget(waiting, who, who.split(':')[0] ?? '');
    const [, since] = /^[\d+]+ (\d+)/.exec(record ?? '') ?? [];
    const [aliveUntil] = since === undefined ? [] : (/^\d+/.exec(life ?? '') ?? []);
    // A Java thread has only the time after which Redisson removes it.
    const ends = aliveUntil ?? (await client.zscore(timeouts, who));
    return {
      ...{ position: i + 1, who },
      ...(since !== undefined && {
        waitedMs: Math.max(0, nowMs - Math.round(Number(since) / 1_000)),
      }),
      ...(ends !== null && { forgottenInMs: Math.max(0, scoreOf(ends) - nowMs) }),
    };
  });
  const length = await client.llen(queue);
  return { what: 'fair queue', key: queue, length, waiters: await Promise.all(waiters) };
}

/** One place for each process, by the time at which it first asked. */
async function line(
  client: Client,
  key: string,
  kind: QueueKind,
  nowMs: number,
): Promise<Queue | undefined> {
  const { queue, claims } = queueKeys(key, kind);
  const { length, first } = await scoresIn(client, queue);
  const waiters = first.map(async ([who, since], i): Promise<Waiter> => {
    const [, aliveUntil] = /^\d+ (\d+) /.exec((await client.hget(claims, who)) ?? '') ?? [];
    return {
      ...{ position: i + 1, who, waitedMs: Math.max(0, nowMs - Math.round(since / 1_000)) },
      ...(aliveUntil !== undefined && { forgottenInMs: Math.max(0, Number(aliveUntil) - nowMs) }),
    };
  });
  const what = kind === 'lock' ? 'line of processes' : 'line of writing processes';
  return { what, key: queue, length, waiters: await Promise.all(waiters) };
}

/** Owners by the time at which they are forgotten. */
async function rememberedIn(
  client: Client,
  what: 'writers' | 'readers' | 'readers whose turn it is',
  key: string,
  nowMs: number,
): Promise<Queue> {
  const { length, first } = await scoresIn(client, key);
  const waiters = first.map(([who, until], i) => ({
    ...{ position: i + 1, who, forgottenInMs: Math.max(0, until - nowMs) },
  }));
  return { what, key, length, waiters };
}

/** A request for several permits leaves a mark, behind which smaller requests wait. */
async function largeRequest(client: Client, key: string): Promise<Queue | undefined> {
  const mark = waitingKey(key);
  if ((await client.type(mark)) !== 'string') return undefined;
  const [, id, permits] = /^([0-9a-f]{32}):(\d+)$/.exec((await client.get(mark)) ?? '') ?? [];
  const forgottenInMs = await ttlOf(client, mark);
  if (id === undefined || forgottenInMs === null) return undefined;
  const who = `${id} (${permits ?? ''} permits)`;
  const waiters = [{ position: 1, who, forgottenInMs }];
  return { what: 'a request for several permits', key: mark, length: 1, waiters };
}
