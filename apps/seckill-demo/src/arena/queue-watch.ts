import { setTimeout as elapse } from 'node:timers/promises';
import type { Redis } from 'ioredis';

const LOOKS_EVERY_MS = 5;

/** The key of the queue of a fair lock, next owner first. */
export function fairQueueOf(lock: string): string {
  return `redisson_lock_queue:{${lock}}`;
}

/**
 * Reads the queue of a fair lock in Redis while its buyers wait there. The promise of the lock
 * begins in that queue. Requests may reach it in another order than buyers sent them.
 */
export class QueueWatch {
  #line: readonly string[] = [];
  readonly #seen = new Set<string>();
  #overtaken = 0;
  #reads = 0;
  readonly #stopped = new AbortController();
  readonly #looking: Promise<void>;

  constructor(private readonly readLine: () => Promise<readonly string[]>) {
    this.#looking = this.#lookOnAndOn();
  }

  static of(redis: Redis, lock: string): QueueWatch {
    return new QueueWatch(() => redis.lrange(fairQueueOf(lock), 0, -1));
  }

  /** Resolves after the last read. `overtaken`: in percent of all pairs that were in the queue. */
  async stop(): Promise<{ readonly reads: number; readonly overtaken: number | undefined }> {
    this.#stopped.abort();
    await this.#looking;
    const pairs = (this.#seen.size * (this.#seen.size - 1)) / 2;
    const overtaken = pairs === 0 ? undefined : (100 * this.#overtaken) / pairs;
    return { reads: this.#reads, overtaken };
  }

  async #lookOnAndOn(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const line = await this.readLine().catch(() => undefined);
      this.#reads += 1;
      if (line !== undefined) this.#compare(line);
      await elapse(LOOKS_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** An owner that has left the queue has overtaken all that were before it and are still there. */
  #compare(line: readonly string[]): void {
    const waiting = new Set(line);
    let passedOver = 0;
    for (const owner of this.#line) {
      if (waiting.has(owner)) passedOver += 1;
      else this.#overtaken += passedOver;
    }
    for (const owner of line) this.#seen.add(owner);
    this.#line = line;
  }
}
