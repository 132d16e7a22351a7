import type { Clock } from './clock.js';
import type { Contender, Departure } from './contender.js';
import { Idle } from './idle.js';
import { KeyQueue } from './key-queue.js';
import type { RedisConnection } from './redis-connection.js';

/** How often those who wait are told so. */
const TELL_MS = 1_000;

/** The queues of all keys of one kind of lock. A key that nobody waits for leaves nothing behind. */
export class Contenders {
  readonly #queues = new Map<string, KeyQueue>();
  readonly #stopListening: () => void;
  readonly #idle: Idle;
  /** Armed while there are queues; it outlives them, so that short ones do not arm it each time. */
  #telling: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: RedisConnection,
    private readonly clock: Clock,
    private readonly pollIntervalMs: number,
    private readonly channelOf: (key: string) => string,
  ) {
    this.#idle = new Idle(clock, () => this.#queues.size === 0);
    this.#stopListening = connection.onUp(() => {
      for (const queue of this.#queues.values()) queue.ask();
    });
  }

  /** Enters a caller; the returned function takes it out again. */
  enter(key: string, contender: Contender): () => Departure {
    return (this.#queues.get(key) ?? this.#open(key)).enter(contender);
  }

  /** Sends everybody away. */
  close(): void {
    this.#stopListening();
    clearTimeout(this.#telling);
    for (const queue of this.#queues.values()) queue.close();
  }

  /** Resolves once no attempt is on its way any more, or time is up. */
  idle(withinMs: number): Promise<void> {
    return this.#idle.within(withinMs);
  }

  #open(key: string): KeyQueue {
    const queue = new KeyQueue({
      connection: this.connection,
      clock: this.clock,
      pollIntervalMs: this.pollIntervalMs,
      channel: this.channelOf(key),
      onIdle: () => {
        if (this.#queues.get(key) === queue) this.#queues.delete(key);
        this.#idle.check();
      },
    });
    this.#queues.set(key, queue);
    this.#tellLater();
    return queue;
  }

  #tellLater(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      if (this.#queues.size > 0) this.#tellLater();
      for (const queue of this.#queues.values()) queue.tellWaiting();
    }, TELL_MS).unref();
  }
}
