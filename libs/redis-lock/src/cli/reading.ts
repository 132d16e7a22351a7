import type { Cluster, Redis } from 'ioredis';

export type Client = Redis | Cluster;

/** Of a long list so many are read: a look must not keep Redis from its other clients. */
export const SHOWN = 100;

/** Null when the key is absent, or has no end. */
export async function ttlOf(client: Client, key: string): Promise<number | null> {
  const pttl = await client.pttl(key);
  return pttl < 0 ? null : pttl;
}

/** Of the server, in milliseconds: all deadlines are by that clock. */
export async function timeOf(client: Client): Promise<number> {
  const [seconds, micros] = await client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** The first of a sorted set with their scores; none of a key that is something else. */
export async function scoresIn(
  client: Client,
  key: string,
): Promise<{ length: number; first: [member: string, score: number][] }> {
  if ((await client.type(key)) !== 'zset') return { length: 0, first: [] };
  const flat = await client.zrange(key, 0, String(SHOWN - 1), 'WITHSCORES');
  const first: [string, number][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) first.push([flat[i] ?? '', Number(flat[i + 1])]);
  return { length: await client.zcard(key), first };
}
