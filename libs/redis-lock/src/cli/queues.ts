import { queueKeys, type QueueKind } from '../core/lua/hand-off.js';
import { queueKeys as fairQueueKeys } from '../primitives/fair-lock/footprint.js';
import { turnKeys } from '../primitives/read-write-lock/footprint.js';
import { waitingKey } from '../primitives/semaphore/footprint.js';
import type { Queue, Waiter } from './inspection.js';
import { scoreOf, scoresIn, SHOWN, ttlOf, type Client } from './reading.js';

/** The waiters of the lock, by each of the queues that it may have. */
export async function queuesOf(client: Client, key: string, nowMs: number): Promise<Queue[]> {
  const turns = turnKeys(key);
  const queues = await Promise.all([
    fairQueue(client, key, nowMs),
    processQueue(client, key, 'lock', nowMs),
    processQueue(client, key, 'rwlock', nowMs),
    rememberedIn(client, 'readers whose turn it is', turns.turn, nowMs),
    rememberedIn(client, 'writers', turns.writers, nowMs),
    rememberedIn(client, 'readers', turns.readers, nowMs),
    largeRequest(client, key),
  ]);
  return queues.filter((queue) => queue !== undefined && queue.length > 0) as Queue[];
}

/** Owners in their order; those of Node with their own records. */
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

/** One entry for each process, by the time at which it first asked. */
async function processQueue(
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

/** A waiter for several permits at once leaves a mark, and small requests wait behind it. */
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
