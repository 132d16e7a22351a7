import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { tokenKey } from '../../libs/redis-lock/src/primitives/lua/fencing-token.js';
import { grantChannel, queueKeys } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';
import { inOrder } from './in-order.js';
import { deliver } from './deliver.js';
import { timed, secondsOf, secondsUntil, serverNow } from './moments.js';
import { QUEUE_KINDS, type QueueKindUnderTest } from './queue-kinds.js';
import type { RedisFixture } from './redis-server.js';

export type Values = Readonly<Record<string, string | number>>;
type AnyScript<R> = Script<string, string, R>;

/** The process of this letter, as part of an owner. */
export function processOf(letter: string): string {
  return `c0ffee00-0000-4000-8000-${letter.charCodeAt(0).toString(16).padStart(12, '0')}`;
}

/** The owner `B2` is the second caller of the process B. */
export function ownerOf(short: string): string {
  return `${processOf(short.charAt(0))}:${short.slice(1)}`;
}

/** The argument with which `ownerOf` or `processOf` was called. */
export function shortOf(owner: string): string {
  const [, code, number] = /-0*([0-9a-f]{2})(?::(.+))?$/.exec(owner) ?? [];
  return code === undefined ? owner : String.fromCharCode(parseInt(code, 16)) + (number ?? '');
}

/** No key of a lock and of its queue ever lives longer than that, unless a spec says so. */
const LONGEST_MS = {
  ...{ lock: 60_000, queue: 10_000, claims: 10_000, opened: 3_000 },
  ...{ token: 7 * 24 * 60 * 60 * 1_000 },
};

/** A lock and its queue, as they are in Redis, for those who run the scripts themselves. */
export class QueueView {
  readonly keys: Record<string, string>;
  /** Keys that another client has written; the view expects no TTL of them. */
  readonly foreign = new Set<string>();
  readonly #longestMs: Readonly<Record<string, number>>;

  constructor(
    private readonly redis: RedisFixture,
    key: string,
    private readonly kind: QueueKindUnderTest = QUEUE_KINDS.LOCK,
    longestMs: Readonly<Record<string, number>> = LONGEST_MS,
  ) {
    this.#longestMs = { ...kind.longestMs, ...longestMs };
    this.keys = { lock: key, ...queueKeys(key, kind.queue), token: tokenKey(key), ...kind.keys };
  }

  /** Runs a script, which must leave every key with a TTL, whether it fails or not. */
  async run<R>(script: AnyScript<R>, args: Values, by = this.redis.admin): Promise<R> {
    const keys = script.keys.map((key) => this.keys[key] ?? '');
    try {
      return await deliver(by, script, keys, { ...this.kind.args, ...args });
    } finally {
      await this.expectToEnd();
    }
  }

  /**
   * Runs scripts one after the other in the same moment by the clock of the server, on which nothing
   * comes in between. The keys of all have to begin alike.
   */
  async runAtOnce(...calls: (readonly [AnyScript<unknown>, Values])[]): Promise<unknown[]> {
    const keys = longest(calls.map(([script]) => script.keys)).map((key) => this.keys[key] ?? '');
    const args = calls.map(([script, values]) =>
      inOrder<string | number>(script.args, { ...this.kind.args, ...values }),
    );
    const steps = calls.map(([{ lua }], i) => {
      const from = args.slice(0, i).flat().length + 1;
      const own = `{ unpack(given, ${String(from)}, ${String(from + (args[i] ?? []).length - 1)}) }`;
      return `(function()\nlocal ARGV = ${own}\n${lua}\nend)()`;
    });
    const lua = `local given = ARGV\nreturn { ${steps.join(', ')} }`;
    const answers = await this.redis.admin.eval(lua, keys.length, ...keys, ...args.flat());
    await this.expectToEnd();
    return calls.map(([script], i) => script.decode((answers as unknown[])[i]));
  }

  /** Every key there is ends by itself. */
  async expectToEnd(): Promise<void> {
    const keys = Object.keys(this.#longestMs).filter((key) => !this.foreign.has(key));
    const ttls = await Promise.all(keys.map((key) => this.redis.admin.pttl(this.keys[key] ?? '')));
    const tooLong = keys
      .map((key, i) => ({ key, ttlMs: ttls[i] ?? -1 }))
      .filter(({ key, ttlMs }) => ttlMs === -1 || ttlMs > (this.#longestMs[key] ?? 0));
    expect(tooLong).toEqual([]);
  }

  /** Everything there is to see but the token; times in seconds from the step that wrote them. */
  async look() {
    const { lock = '', queue = '', claims = '', opened = '' } = this.keys;
    const { admin } = this.redis;
    const none = (): undefined => undefined;
    // All at once, and what is of another type is not there.
    const [nowMs, leaseS, processes, records, holders, doors] = await Promise.all([
      serverNow(admin),
      secondsOf(admin, lock),
      admin.zrange(queue, '0', '-1').catch(none),
      admin.hgetall(claims).catch(none),
      admin.hgetall(lock).catch(none),
      admin.exists(opened),
    ]);
    return {
      lock: this.#holdersIn(holders ?? {}),
      leaseS: Math.max(0, leaseS),
      queue: (processes ?? []).map(shortOf),
      claims: mapKeys(records ?? {}, (record) => {
        const [number = '', aliveUntil, ...terms] = record.split(' ');
        return [number, String(secondsUntil(Number(aliveUntil), nowMs)), ...terms].join(' ');
      }),
      isReserved: doors === 1,
    };
  }

  /** Every key byte by byte, and when it ends: the same for as long as no client writes. */
  written(): Promise<unknown[]> {
    const { admin } = this.redis;
    const keys = Object.values(this.keys);
    return Promise.all(
      keys.map((key) => Promise.all([admin.dumpBuffer(key), this.redis.endOf(key)])),
    );
  }

  /** Makes this owner the holder, or what else there is, without a script. */
  async hold(owner: string, count: number | string, leaseMs: number): Promise<void> {
    const { lock = '' } = this.keys;
    const { beside, fieldOf } = this.kind;
    await this.redis.admin.hset(lock, { ...beside, [fieldOf(ownerOf(owner))]: count });
    await timed(this.redis.admin, () => this.redis.admin.pexpire(lock, leaseMs));
  }

  /** The view shows fields that are not of this kind as they are. */
  #holdersIn(fields: Record<string, string>) {
    const { beside, fieldOf } = this.kind;
    const isOfKind = Object.entries(beside).every(([field, value]) => fields[field] === value);
    if (!isOfKind) return mapKeys(fields, (count) => count);
    const suffix = fieldOf('');
    const holders = Object.entries(fields).filter(([field]) => !(field in beside));
    const byOwner = holders.map(([field, count]) => [
      field.endsWith(suffix) ? field.slice(0, field.length - suffix.length) : field,
      count,
    ]);
    return mapKeys(Object.fromEntries(byOwner) as Record<string, string>, (count) => count);
  }

  /** When the window of outsiders ends, after how many sections, and how many were not used. */
  async window() {
    const { opened = '' } = this.keys;
    const { admin } = this.redis;
    const [times, ttlMs, now] = await Promise.all([
      admin.get(opened),
      admin.pttl(opened),
      serverNow(admin),
    ]);
    const [untilMs = 0, sections = 0, unused = 0] = (times ?? '').split(' ').map(Number);
    return { untilMs, sections, unused, ttlMs, now };
  }

  /** Outsiders have a window for so long, or none begins before. Returns its end. */
  async setWindow(leftMs: number, sections: number, unused = 1): Promise<number> {
    const untilMs = (await serverNow(this.redis.admin)) + leftMs;
    const { opened = '' } = this.keys;
    await this.redis.admin.set(opened, [untilMs, sections, unused].join(' '), 'PX', 3_000);
    return untilMs;
  }
}

function longest<T extends { length: number }>(all: readonly T[]): T {
  return all.reduce((a, b) => (b.length > a.length ? b : a));
}

function mapKeys(record: Record<string, string>, valueOf: (value: string) => string) {
  const entries = Object.entries(record).map(([key, value]) => [shortOf(key), valueOf(value)]);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Processes and others that listen, and what they have heard since the spec began. */
export class Listeners {
  #connection: Redis | undefined;
  #heard: string[] = [];

  constructor(
    private readonly redis: RedisFixture,
    private readonly key: string,
    private readonly kind: QueueKindUnderTest = QUEUE_KINDS.LOCK,
  ) {}

  open(): void {
    this.#connection = new Redis(this.redis.url, {
      connectionName: 'test-ear',
      // Else ioredis keeps the process alive for 2 s when the server has ended before.
      disconnectTimeout: 50,
    });
    this.#connection.on('error', () => undefined);
    this.#connection.on('message', (channel: string, message: string) => {
      const letter = channel === this.kind.channel ? 'all' : shortOf(channel);
      this.#heard.push(`${letter}: ${message}`);
    });
  }

  close(): void {
    this.#connection?.disconnect();
  }

  async clear(): Promise<void> {
    await this.#ear.unsubscribe();
    this.#heard = [];
  }

  /** The processes of these letters receive the messages of grants from now on. */
  async listen(letters: string): Promise<void> {
    const channels = Array.from(letters, (letter) =>
      grantChannel(this.key, processOf(letter), this.kind.queue),
    );
    if (channels.length > 0) await this.#ear.subscribe(...channels);
  }

  /** A client listens for the message that the lock is free. */
  async listenToAll(): Promise<void> {
    await this.#ear.subscribe(this.kind.channel);
  }

  async stopListeningToAll(): Promise<void> {
    await this.#ear.unsubscribe(this.kind.channel);
  }

  /** The messages that arrived, such as `B: 1 b1`, or `all: 0`. */
  async heard(): Promise<readonly string[]> {
    // Messages published before are there before this answer.
    await this.#ear.ping();
    return this.#heard;
  }

  get #ear(): Redis {
    if (this.#connection === undefined) throw new Error('They listen from beforeAll on');
    return this.#connection;
  }
}

export function useListeners(
  redis: RedisFixture,
  key: string,
  kind?: QueueKindUnderTest,
): Listeners {
  const listeners = new Listeners(redis, key, kind);
  beforeAll(() => {
    listeners.open();
  });
  beforeEach(() => listeners.clear());
  afterAll(() => {
    listeners.close();
  });
  return listeners;
}
