import type { Cluster, Redis } from 'ioredis';

export type Client = Redis | Cluster;

/**
 * The most entries that are read of a long list: a look must not keep Redis from its other clients.
 */
export const SHOWN = 100;

/** Null when the key is absent, or has no end. */
export async function ttlOf(client: Client, key: string): Promise<number | null> {
  const pttl = await client.pttl(key);
  return pttl < 0 ? null : pttl;
}

/** The time of the server (ms): all deadlines are by that clock. */
export async function timeOf(client: Client): Promise<number> {
  const [seconds, micros] = await client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** As Redis writes it. A score without an end is a number, too: JSON has no infinity. */
export function scoreOf(text: string | Buffer): number {
  const score = Number(String(text).replace('inf', 'Infinity'));
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(score, Number.MAX_SAFE_INTEGER));
}

/** The first of a sorted set with their scores; none for a key of another type. */
export async function scoresIn(
  client: Client,
  key: string,
): Promise<{ length: number; first: [member: string, score: number][] }> {
  if ((await client.type(key)) !== 'zset') return { length: 0, first: [] };
  const flat = await client.zrange(key, 0, String(SHOWN - 1), 'WITHSCORES');
  const first = pairsOf(flat).map(([member, score]): [string, number] => [member, scoreOf(score)]);
  return { length: await client.zcard(key), first };
}

/** Fields and values, or members and scores, as Redis puts them one after the other. */
export function pairsOf<T>(flat: readonly T[]): [T, T][] {
  const pairs: [T, T][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i] as T, flat[i + 1] as T]);
  return pairs;
}
