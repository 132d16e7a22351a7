import { setTimeout as elapse } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { KeySeen } from './step.js';

const LOOKS_EVERY_MS = 40;
/** If a TTL differs from the expected rest by more than this, it was set again. */
const SET_ANEW_MS = 80;

type Fields = Readonly<Record<string, string>>;
export type Seen = Omit<KeySeen, 'kind' | 'cell'>;

/** Reads a lock in Redis, and reports changes other than the passing of its TTL. */
export class KeyWatch {
  readonly #stopped = new AbortController();
  readonly #looking: Promise<void>;
  #last = { text: '', ends: 0 };

  constructor(
    private readonly redis: Redis,
    /** The key of the lock, when it is known. */
    private readonly nameOf: () => string | undefined,
    private readonly onSeen: (seen: Seen) => void,
    private readonly everyMs = LOOKS_EVERY_MS,
  ) {
    this.#looking = this.#lookOnAndOn();
  }

  /** Resolves after a last read: the page shows this state at the end. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#looking;
    await this.#look();
  }

  async #lookOnAndOn(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#look();
      await elapse(this.everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const name = this.nameOf();
    const seen = name && (await seeLock(this.redis, name).catch(() => undefined));
    if (!seen) return;
    const { ttlMs = 0, ...rest } = seen;
    const now = { text: JSON.stringify(rest), ends: Date.now() + ttlMs };
    const isSetAnew = ttlMs > 0 && Math.abs(now.ends - this.#last.ends) > SET_ANEW_MS;
    if (now.text === this.#last.text && !isSetAnew) return;
    this.onSeen(seen);
    this.#last = now;
  }
}

async function seeLock(redis: Redis, name: string): Promise<Seen> {
  // The key may be a hash or a text: the command for the other type fails, and says nothing.
  const replies = await redis
    .multi()
    .pttl(name)
    .get(name)
    .hgetall(name)
    .get(`redisson_lock_token:{${name}}`)
    .lrange(`redisson_lock_queue:{${name}}`, 0, -1)
    .zrange(`nestjs_lock_queue:{${name}}`, '0', '-1')
    .hgetall(`nestjs_lock_claims:{${name}}`)
    .exec();
  const [ttl, text, hash, token, line, processes, claims] = (replies ?? []).map(([error, reply]) =>
    error === null ? reply : undefined,
  ) as [number, string?, Fields?, (string | null)?, string[]?, string[]?, Fields?];
  const fields = hash ?? (typeof text === 'string' ? { '': text } : {});
  return {
    name,
    ...(isSome(fields) && { fields }),
    ...(ttl > 0 && { ttlMs: ttl }),
    queue: [...(line ?? []), ...(processes ?? [])],
    ...(isSome(claims) && { claims }),
    ...(typeof token === 'string' && { token }),
  };
}

function isSome(fields: Fields | undefined): fields is Fields {
  return fields !== undefined && Object.keys(fields).length > 0;
}
