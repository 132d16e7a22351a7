import type { Clock } from './clock.js';
import type { Contender, Departure } from './contender.js';
import { Idle } from './idle.js';
import { KeyQueue } from './key-queue.js';
import type { LockSettings } from './options.js';
import type { RedisConnection } from './redis-connection.js';

/** How often those who wait are told so. */
const TELL_MS = 1_000;

/** Where a contender waits. */
export interface WaitingPlace {
  /** Contenders that give the same one stand in line. */
  readonly line: string;
  /** Where it hears that it should try again. */
  readonly channel: string;
}

/** The lines of waiting callers, of one kind of lock. One in which nobody waits leaves nothing behind. */
export class Contenders {
  readonly #queues = new Map<string, KeyQueue>();
  readonly #stopListening: () => void;
  readonly #idle: Idle;
  /** Armed while there are queues; it outlives them, so that short ones do not arm it each time. */
  #telling: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: RedisConnection,
    private readonly clock: Clock,
    private readonly settings: LockSettings,
    private readonly isShared: boolean,
  ) {
    this.#idle = new Idle(clock, () => this.#queues.size === 0);
    this.#stopListening = connection.onUp(() => {
      for (const queue of this.#queues.values()) queue.ask();
    });
  }

  /** Enters a caller; the returned function takes it out again. */
  enter(place: WaitingPlace, contender: Contender): () => Departure {
    return (this.#queues.get(place.line) ?? this.#open(place)).enter(contender);
  }

  /** Sends everybody away. */
  close(): void {
    this.#stopListening();
    clearTimeout(this.#telling);
    // Last come, first gone: in a queue in Redis nobody has to move up for one who leaves at its end.
    for (const queue of [...this.#queues.values()].reverse()) queue.close();
  }

  /** Resolves once no attempt is on its way any more, or time is up. */
  idle(withinMs: number): Promise<void> {
    return this.#idle.within(withinMs);
  }

  #open({ line, channel }: WaitingPlace): KeyQueue {
    const queue = new KeyQueue({
      connection: this.connection,
      clock: this.clock,
      pollIntervalMs: this.settings.pollIntervalMs,
      wakeUp: this.settings.wakeUp,
      isShared: this.isShared,
      channel,
      onIdle: () => {
        if (this.#queues.get(line) === queue) this.#queues.delete(line);
        this.#idle.check();
      },
    });
    this.#queues.set(line, queue);
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
