import type { Redis } from 'ioredis';
import { eventually } from '../eventually.js';

/** A time of the server is given as this and the milliseconds that it is ahead of the present. */
const NOW = 'now + ';
/** Times are rounded up to this. The times in a step are multiples of it, and the step takes less time. */
const GRAIN_MS = 5_000;
/** Scores from here on are no times. Redisson's score of a permit without a lease is one of them. */
const NO_TIME = 1e14;
/** A permit's id as clients see it; Redis may have its bytes instead. */
export const PERMIT = /^[0-9a-f]{32}$/;

/** `ttl` is in milliseconds, rounded up to 5 000; -1 is none. A score is a number or "now + 5000". */
export type WireKey =
  | { readonly hash: Readonly<Record<string, string>>; readonly ttl: number }
  | { readonly list: readonly string[]; readonly ttl: number }
  | { readonly zset: Readonly<Record<string, string>>; readonly ttl: number }
  | { readonly string: string; readonly ttl: number };

/** Every key there is, by its name. */
export type WireKeys = Readonly<Record<string, WireKey>>;
export type WireMessage = readonly [channel: string, payload: string];

/** Redisson 3.16 writes a permit as 32 hex digits, and later ones as the 16 bytes that these mean. */
export const AS_TEXT = ' as text';

/** The names of what differs from run to run: `<A>` for an owner, `<permit 1>` for a permit's id. */
export class Aliases {
  readonly #values = new Map<string, string>();

  set(alias: string, value: string): void {
    this.#values.set(alias, value);
  }

  valueOf(alias: string): string | undefined {
    return this.#values.get(alias);
  }

  /** Names each new permit by its turn. */
  addPermits(ids: readonly string[]): void {
    const known = [...this.#values.values()];
    const permits = [...this.#values.keys()].filter((alias) => alias.startsWith('permit '));
    const fresh = ids.filter((id) => !known.includes(id));
    fresh.forEach((id, i) => {
      this.set(`permit ${permits.length + i + 1}`, id);
    });
  }

  /** Owners → their aliases. */
  hide(text: string): string {
    // The longest value first: the owner `…:12` begins with the owner `…:1`.
    const values = [...this.#values].sort(([, a], [, b]) => b.length - a.length);
    return values.reduce((hidden, [alias, value]) => hidden.replaceAll(value, `<${alias}>`), text);
  }

  /** Aliases → their owners. */
  reveal(text: string): string {
    return text.replace(/<([^<>]+)>/g, (alias, name: string) => this.#values.get(name) ?? alias);
  }
}

/** Everything in Redis, but the latches of Redisson's unlock, which are its own affair. */
export async function readKeys(redis: Redis, aliases: Aliases): Promise<WireKeys> {
  const keys: [string, WireKey][] = [];
  for (const key of await redis.keys('*')) {
    if (key.startsWith('redisson_unlock_latch:')) continue;
    const content = await readKey(redis, key, aliases);
    if (content) keys.push([aliases.hide(key), content]);
  }
  return Object.fromEntries(keys.sort(byName));
}

async function readKey(redis: Redis, key: string, aliases: Aliases): Promise<WireKey | null> {
  const ttl = rounded(await redis.pttl(key));
  switch (await redis.type(key)) {
    case 'hash': {
      const fields = Object.entries(await redis.hgetall(key));
      const named = fields.map(([field, value]) => [aliases.hide(field), value] as const);
      return { hash: Object.fromEntries(named.sort(byName)), ttl };
    }
    case 'list':
      return { list: (await redis.lrange(key, 0, -1)).map((item) => aliases.hide(item)), ttl };
    case 'zset':
      return { zset: await readScores(redis, key, aliases), ttl };
    case 'string':
      return { string: aliases.hide((await redis.get(key)) ?? ''), ttl };
    default:
      return null;
  }
}

async function readScores(redis: Redis, key: string, aliases: Aliases) {
  const [seconds = 0, micros = 0] = (await redis.time()).map(Number);
  const now = seconds * 1_000 + Math.floor(micros / 1_000);
  const replies = await redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES');
  const scores: [string, string][] = [];
  for (let i = 0; i < replies.length; i += 2) {
    const member = replies[i] ?? Buffer.alloc(0);
    scores.push([hideMember(member, aliases), relative(String(replies[i + 1]), now)]);
  }
  return Object.fromEntries(scores.sort(byName));
}

function relative(score: string, now: number): string {
  const value = Number(score);
  if (!/^\d+$/.test(score) || value < 1e12 || value >= NO_TIME) return score;
  return value <= now ? 'past' : `${NOW}${rounded(value - now)}`;
}

/** A machine that is slow reads a time one grain too small; where it should be larger, it is. */
export function withNoise(seen: WireKeys, expected: WireKeys): WireKeys {
  const lenient = Object.entries(seen).map(([name, key]): [string, WireKey] => {
    const model = expected[name];
    const ttl = model && key.ttl > 0 && key.ttl + GRAIN_MS === model.ttl ? model.ttl : key.ttl;
    if (!('zset' in key) || !model || !('zset' in model)) return [name, { ...key, ttl }];
    const scores = Object.entries(key.zset).map(([member, score]) => [
      member,
      sooner(model.zset[member]) === score ? model.zset[member] : score,
    ]);
    return [name, { zset: Object.fromEntries(scores) as Record<string, string>, ttl }];
  });
  return Object.fromEntries(lenient);
}

function sooner(score = ''): string {
  return score.startsWith(NOW) ? `${NOW}${Number(score.slice(NOW.length)) - GRAIN_MS}` : score;
}

/** Puts these keys into Redis, in place of those that were put before. */
export async function writeKeys(
  redis: Redis,
  before: WireKeys,
  keys: WireKeys,
  aliases: Aliases,
): Promise<void> {
  const [seconds = 0] = (await redis.time()).map(Number);
  const batch = redis.multi();
  for (const hidden of [...Object.keys(before), ...Object.keys(keys)])
    batch.del(aliases.reveal(hidden));
  for (const [hidden, content] of Object.entries(keys)) {
    const key = aliases.reveal(hidden);
    if ('hash' in content) {
      for (const [field, value] of Object.entries(content.hash))
        batch.hset(key, aliases.reveal(field), value);
    } else if ('list' in content) {
      batch.rpush(key, ...content.list.map((item) => aliases.reveal(item)));
    } else if ('zset' in content) {
      for (const [member, score] of Object.entries(content.zset))
        batch.zadd(key, absolute(score, seconds * 1_000), revealMember(member, aliases));
    } else {
      batch.set(key, aliases.reveal(content.string));
    }
    if (content.ttl > 0) batch.pexpire(key, content.ttl);
  }
  const replies = (await batch.exec()) ?? [];
  for (const [error] of replies) if (error) throw error;
}

function absolute(score: string, now: number): string {
  if (score === 'past') return String(now - 1_000);
  return score.startsWith(NOW) ? String(now + Number(score.slice(NOW.length))) : score;
}

/** Receives every message of a server, as `PSUBSCRIBE *` does. */
export class Eavesdropper {
  readonly #redis: Redis;
  readonly #subscriber: Redis;
  #heard: WireMessage[] = [];
  #marks = 0;

  constructor(redis: Redis) {
    this.#redis = redis;
    this.#subscriber = redis.duplicate({ connectionName: 'test-eavesdropper' });
    this.#subscriber.on('error', () => undefined);
    this.#subscriber.on('pmessage', (_, channel: string, payload: string) =>
      this.#heard.push([channel, payload]),
    );
  }

  async start(): Promise<void> {
    await this.#subscriber.psubscribe('*');
  }

  stop(): void {
    this.#subscriber.disconnect();
  }

  /** The messages published since the last call, in order; no earlier message is still on its way. */
  async take(): Promise<WireMessage[]> {
    const mark = `mark ${(this.#marks += 1)}`;
    await this.#redis.publish('eavesdropper', mark);
    await eventually(() => this.#heard.some(([, payload]) => payload === mark), { everyMs: 1 });
    const heard = this.#heard.filter(([channel]) => channel !== 'eavesdropper');
    this.#heard = [];
    return heard;
  }
}

function rounded(ms: number): number {
  return ms < 0 ? ms : Math.ceil(ms / GRAIN_MS) * GRAIN_MS;
}

/** A permit is 16 bytes, and every other member is a longer text. */
function hideMember(member: Buffer, aliases: Aliases): string {
  if (member.length === 16) return aliases.hide(member.toString('hex'));
  const text = member.toString();
  return PERMIT.test(text) ? `${aliases.hide(text)}${AS_TEXT}` : aliases.hide(text);
}

export function revealMember(hidden: string, aliases: Aliases): string | Buffer {
  if (hidden.endsWith(AS_TEXT)) return aliases.reveal(hidden.slice(0, -AS_TEXT.length));
  const text = aliases.reveal(hidden);
  return PERMIT.test(text) ? Buffer.from(text, 'hex') : text;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
