import type { Cluster, Redis } from 'ioredis';

import { isReply } from '../ioredis/reply-error.js';

export type Client = Redis | Cluster;

/** A server that does not answer is one that cannot be reached. */
export class UnreachableError extends Error {}

/** The answer of a server, or its refusal. */
export type Answer = { readonly value: unknown } | { readonly refusal: string };

/**
 * One command, whose refusal is an answer.
 * @throws {UnreachableError} there was no answer
 */
export async function ask(
  client: Client,
  command: string,
  ...args: (string | number)[]
): Promise<Answer> {
  try {
    return { value: await client.call(command, ...args) };
  } catch (error) {
    if (isReply(error)) return { refusal: textOf(error) };
    throw new UnreachableError(`no answer to ${command.toUpperCase()}: ${textOf(error)}`);
  }
}

/** As `ask`, for a text; undefined when it was refused. */
export async function askText(
  client: Client,
  command: string,
  ...args: string[]
): Promise<string | undefined> {
  const answer = await ask(client, command, ...args);
  return 'value' in answer ? String(answer.value) : undefined;
}

/** @throws {UnreachableError} it took longer */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new UnreachableError(`${what} took longer than ${String(ms)} ms`));
    }, ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A server repeats words that it does not know: after HELLO that may be a password. */
export function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/,? with args beginning with.*$/s, '').trim();
}

/** The value of a line of INFO. */
export function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** The number of entries that are read of a long list: a look must not hold up other clients of Redis. */
export const SHOWN = 100;

/** Null when the key is absent, or has no end. */
export async function ttlOf(client: Client, key: string): Promise<number | null> {
  const pttl = await client.pttl(key);
  return pttl < 0 ? null : pttl;
}

/** The server's time (ms): all deadlines are by that clock. */
export async function timeOf(client: Client): Promise<number> {
  const [seconds, micros] = await client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** As Redis writes it; one without an end is a number all the same, as JSON knows no infinity. */
export function scoreOf(text: string | Buffer): number {
  const score = Number(String(text).replace('inf', 'Infinity'));
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(score, Number.MAX_SAFE_INTEGER));
}

/** The first of a sorted set with their scores; none of a key that is something else. */
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
