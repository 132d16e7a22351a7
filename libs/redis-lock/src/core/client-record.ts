import { hostname } from 'node:os';

import type { LockProcess } from './api/observer.js';
import { UNSAFE_CHARACTERS } from './api/shapes.js';
import { ANSWER_MS, type RedisConnection } from './redis/connection.js';
import { helperKey, prefixOf, type Footprint } from './redis/key-names.js';
import { defineScript } from './redis/script.js';
import { askOnce, type Session } from './session.js';
import type { Timer } from './time/clock.js';
import { Deadline } from './time/deadline.js';

/** Longer than most leases: the record also names a process that has crashed. */
const KEPT_MS = 86_400_000;
/** Redis may lose the record. */
const REPEATED_MS = 3_600_000;

const RECORD = 'nestjs_client';

export const CLIENT_FOOTPRINT = {
  commands: ['get', 'set'],
  keys: [prefixOf(RECORD)],
  channels: [],
} satisfies Footprint;

/** The process that runs this code. */
export const HERE: LockProcess = { host: hostname(), pid: process.pid };

/** For people. */
export function placeOf({ host, pid }: LockProcess): string {
  return `${host}, pid ${String(pid)}`;
}

export const WRITE_CLIENT = defineScript({
  name: 'client.write',
  keys: ['record'],
  args: ['process', 'ttlMs'],
  numbers: ['ttlMs'],
  body: `
redis.call('set', record, process, 'px', ttlMs)
return 1`,
  reply: (raw) => (raw === 1 ? raw : undefined),
});

export const READ_CLIENT = defineScript({
  name: 'client.read',
  keys: ['record'],
  args: [],
  body: `return redis.call('get', record) or ''`,
  reply: (raw) => (typeof raw === 'string' ? raw : undefined),
});

/**
 * Names the process of a client in Redis, for operators. Locks do not need it: every failure is
 * ignored.
 */
export class ClientRecord {
  #timer: Timer | undefined;
  #stop: (() => void) | undefined;

  /** @param connection of the session, or to one of its servers */
  constructor(
    private readonly session: Session,
    private readonly connection: RedisConnection,
  ) {}

  /** Writes it after each connect and every hour, until `end`. */
  begin(): void {
    this.#stop = this.connection.onUp(() => void this.#renew());
    if (this.connection.isUp) void this.#renew();
  }

  /** Removes it. Waits for Redis for a second at most. */
  async end(): Promise<void> {
    if (this.#stop === undefined) return;
    this.#stop();
    this.#stop = undefined;
    const { clock, times } = this.session;
    clock.cancel(this.#timer);
    await new Deadline(times, ANSWER_MS, undefined).race(this.#write(1));
  }

  async #renew(): Promise<void> {
    const { clock } = this.session;
    clock.cancel(this.#timer);
    await this.#write(KEPT_MS);
    clock.cancel(this.#timer);
    if (this.#stop === undefined) return;
    this.#timer = clock.after(REPEATED_MS, () => void this.#renew());
    this.#timer?.unref();
  }

  async #write(ttlMs: number): Promise<void> {
    const { keys, client } = this.session;
    const text = `${String(HERE.pid)} ${HERE.host}`;
    await this.connection
      .run(WRITE_CLIENT, [recordKey(keys.key(client))], [text, ttlMs])
      .catch(() => undefined);
  }
}

/**
 * Resolves with a function that finds the process of one of these owners, permits or clients.
 * Redis may not know it: a Java service writes no record.
 */
export async function processesOf(
  session: Session,
  whos: readonly string[],
): Promise<(who: string) => { readonly process?: LockProcess }> {
  const known = new Map<string | undefined, { readonly process: LockProcess }>();
  const asked = [...new Set(whos.map(clientOf))].map(async (client) => {
    if (client === undefined) return;
    const text = await askOnce(session, client, (key) =>
      session.connection.run(READ_CLIENT, [recordKey(key)], []),
    );
    const [, pid, host] = /^(\d+) (.+)$/.exec(text) ?? [];
    // Any client of Redis may have written it, and logs show it.
    if (host !== undefined && !UNSAFE_CHARACTERS.test(host))
      known.set(client, { process: { host, pid: Number(pid) } });
  });
  await Promise.allSettled(asked);
  return (who) => known.get(clientOf(who)) ?? {};
}

/** Owners begin with a UUID, ids of permits with its first digits. */
function clientOf(who: string): string | undefined {
  const [, first, second] = /^([0-9a-f]{8})-?([0-9a-f]{4})/.exec(who) ?? [];
  return second && `${String(first)}-${second}`;
}

function recordKey(key: string): string {
  return helperKey(RECORD, key);
}
