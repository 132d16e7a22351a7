import type { TURN_KEYS } from '../primitives/read-write-lock/footprint.js';
import { TURN_MS } from '../primitives/read-write-lock/turns.lua.js';
import type { Call } from './answers.js';
import { Count, Value, type InProcessServer } from './in-process-server.js';

/** How long readers wait behind writers that do not acquire the lock either. */
const PATIENCE_MS = 5_000;

/** The waiters, with the time when the entry of each expires unless renewed. */
export class Waiting extends Value {
  readonly until = new Map<string, number>();
}

/** The order of readers and writers that wait: the rules of primitives/read-write-lock/turns.lua.ts. */
export class WaitingTurns {
  readonly #server: InProcessServer;

  constructor(private readonly at: Call<(typeof TURN_KEYS)[number]>) {
    this.#server = at.server;
  }

  get isOrdered(): boolean {
    const { readers, writers, turn } = this.at;
    return this.#exists(readers) || this.#exists(writers) || this.#exists(turn);
  }

  get isWriterAwaited(): boolean {
    return this.#isAwaited(this.at.writers);
  }

  /** How long readers still wait behind the waiting writers (ms); 0 when their turn is due. */
  get patienceMs(): number {
    const patience = this.#server.find(this.at.patience, Count);
    return patience === undefined ? 0 : this.#server.leftOf(patience);
  }

  /** The rest of the readers' turn (ms); undefined when they have none. */
  get turnMs(): number | undefined {
    const turn = this.#waiting(this.at.turn);
    return turn === undefined ? undefined : this.#server.leftOf(turn);
  }

  isTurnOf(reader: string): boolean {
    return this.#waiting(this.at.turn)?.until.has(reader) === true;
  }

  /** A writer finds a free lock, and waiting readers without a turn. */
  openTurn(): boolean {
    const { readers, turn } = this.at;
    const isWaited = this.#exists(readers) && !this.#exists(turn) && this.patienceMs === 0;
    if (isWaited) this.giveTurn();
    return isWaited;
  }

  /** The waiting readers go first, once. */
  giveTurn(): void {
    const { readers, writers, turn } = this.at;
    if (!this.#exists(readers) && !this.#exists(writers)) return;
    const waiting = this.#waiting(readers);
    if (this.#isAwaited(readers) && waiting !== undefined) {
      this.#server.delete(readers);
      this.#server.put(turn, waiting, TURN_MS);
    }
    if (this.#exists(writers)) this.#renewPatience();
  }

  waitToRead(reader: string, memoryMs: number): void {
    this.#remember(this.at.readers, reader, memoryMs);
  }

  /** A writer holds the lock: the readers' turn is due when it ends. */
  endPatience(): void {
    this.#server.delete(this.at.patience);
  }

  waitToWrite(writer: string, memoryMs: number): void {
    const isFirst = !this.isWriterAwaited;
    this.#remember(this.at.writers, writer, memoryMs);
    if (isFirst) this.#renewPatience();
  }

  /** @returns whether its turn was the last of all readers' */
  forgetReader(reader: string): boolean {
    this.#forget(this.at.readers, reader);
    return this.#forget(this.at.turn, reader) && !this.#exists(this.at.turn);
  }

  /** @returns whether no other writer waits */
  forgetWriter(writer: string): boolean {
    if (!this.#forget(this.at.writers, writer) || this.isWriterAwaited) return false;
    this.endPatience();
    return true;
  }

  #waiting(key: string): Waiting | undefined {
    return this.#server.find(key, Waiting);
  }

  #exists(key: string): boolean {
    return this.#waiting(key) !== undefined;
  }

  #isAwaited(key: string): boolean {
    const waiting = this.#waiting(key);
    if (waiting === undefined) return false;
    for (const [one, until] of waiting.until) {
      if (until <= this.#server.now) this.#forget(key, one);
    }
    return waiting.until.size > 0;
  }

  #remember(key: string, one: string, memoryMs: number): void {
    const waiting = this.#waiting(key) ?? this.#server.put(key, new Waiting(), memoryMs);
    waiting.until.set(one, this.#server.now + memoryMs);
    this.#server.prolong(waiting, memoryMs);
  }

  #forget(key: string, one: string): boolean {
    const waiting = this.#waiting(key);
    const wasThere = waiting?.until.delete(one) === true;
    if (waiting?.until.size === 0) this.#server.delete(key);
    return wasThere;
  }

  #renewPatience(): void {
    this.#server.put(this.at.patience, new Count(1), PATIENCE_MS);
  }
}
