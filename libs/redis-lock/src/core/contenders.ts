import type { Channels, Contender, Departure } from './contender.js';
import { LockLimitError } from './errors.js';
import { STAND_BACK_MS } from './hand-off.js';
import type { Hold, Succession, Successors } from './hold.js';
import { Idle } from './idle.js';
import { KeyQueue } from './key-queue.js';
import type { LockContext } from './lock-context.js';
import type { Call, Turn } from './wait-in-turn.js';

/** How often those who wait are told so. */
const TELL_MS = 1_000;

/** Where a contender waits. */
export interface WaitingPlace {
  readonly key: string;
  /** Contenders that give the same one stand in line. */
  readonly line: string;
  /** Where it hears what; asked for when somebody has to wait. */
  channels(): Channels;
}

/** The lines of waiting callers, of one kind of lock. One in which nobody waits leaves nothing behind. */
export class Contenders implements Successors {
  readonly #queues = new Map<string, KeyQueue>();
  /** How many wait for a key in lines of their own. */
  readonly #waiters = new Map<string, number>();
  /** Who has it in this process, of what is handed on. */
  readonly #holders = new Map<string, Hold>();
  /** What was left to outsiders a moment ago. */
  readonly #opened = new Map<string, NodeJS.Timeout>();
  readonly #stopListening: () => void;
  readonly #idle: Idle;
  /** Armed while there are queues; it outlives them, so that short ones do not arm it each time. */
  #telling: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: LockContext,
    private readonly isShared: boolean,
  ) {
    this.#idle = new Idle(context.clock, () => this.#queues.size === 0);
    this.#stopListening = context.connection.onUp(() => {
      for (const queue of this.#queues.values()) queue.ask();
    });
  }

  /** @throws {LockLimitError} there is no room for one that waits, or for another key */
  admit({ name, once }: Call, { place, isLetIn }: Turn): void {
    const { settings, keysInUse } = this.context;
    const isFull = this.#waitersOf(place) >= settings.maxWaitersPerKey;
    if (isFull && !once && isLetIn !== true) {
      throw new LockLimitError(name, 'maxWaitersPerKey', settings.maxWaitersPerKey);
    }
    keysInUse.admit(place.key, name);
  }

  /** Enters a caller; the returned function takes it out again. */
  enter(place: WaitingPlace, contender: Contender): () => Departure {
    const leave = (this.#queues.get(place.line) ?? this.#open(place)).enter(contender);
    const { key, line } = place;
    if (contender.once || line === key) return leave;
    this.#waiters.set(key, this.#waitersOf(place) + 1);
    return () => {
      const others = this.#waitersOf(place) - 1;
      if (others > 0) this.#waiters.set(key, others);
      else this.#waiters.delete(key);
      return leave();
    };
  }

  /** A caller has it, after so many others of this process. */
  holds(hold: Hold, passes: number): void {
    hold.passes = passes;
    hold.successors = this;
    this.#holders.set(hold.key, hold);
  }

  next(hold: Hold): Succession | undefined {
    this.#forget(hold);
    return this.#queues.get(hold.key)?.succeed(hold);
  }

  opened({ key }: Hold): void {
    const isOver = () => {
      this.#opened.delete(key);
      this.#queues.get(key)?.ask();
    };
    clearTimeout(this.#opened.get(key));
    this.#opened.set(key, setTimeout(isOver, STAND_BACK_MS));
  }

  ended(hold: Hold): void {
    if (this.#forget(hold)) this.#queues.get(hold.key)?.ask();
  }

  /** Sends everybody away. */
  close(): void {
    this.#stopListening();
    clearTimeout(this.#telling);
    for (const timer of this.#opened.values()) clearTimeout(timer);
    this.#opened.clear();
    // Last come, first gone: in a queue in Redis nobody has to move up for one who leaves at its end.
    for (const queue of [...this.#queues.values()].reverse()) queue.close();
  }

  /** Resolves once no attempt is on its way any more, or time is up. */
  idle(withinMs: number): Promise<void> {
    return this.#idle.within(withinMs);
  }

  #waitersOf({ key, line }: WaitingPlace): number {
    const waiters = line === key ? this.#queues.get(line)?.waiters : this.#waiters.get(key);
    return waiters ?? 0;
  }

  #forget(hold: Hold): boolean {
    return this.#holders.get(hold.key) === hold && this.#holders.delete(hold.key);
  }

  #open(place: WaitingPlace): KeyQueue {
    const { line, key } = place;
    const endUse = this.context.keysInUse.use(key);
    const queue = new KeyQueue({
      context: this.context,
      isShared: this.isShared,
      channels: () => place.channels(),
      holder: () => this.#holders.get(line),
      standsBack: () => this.#opened.has(line),
      onIdle: () => {
        if (this.#queues.get(line) === queue) {
          this.#queues.delete(line);
          endUse();
        }
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
