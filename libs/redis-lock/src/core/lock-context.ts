import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';

import { systemClock, type Clock } from './time/clock.js';
import { WaitQueues } from './waiting/wait-queues.js';
import type { OwnerId } from './holding/protocol.js';
import { Keeper } from './holding/holds.js';
import { KeySpace } from './redis/key-names.js';
import { KeysInUse } from './waiting/keys-in-use.js';
import { resolveSettings, type LockSettings } from './api/options.js';
import { ANSWER_MS, type RedisConnection } from './redis/connection.js';

const NONCE_BYTES = 8;

/**
 * What all locks of one connection share: who they are in Redis, what they keep, who waits, and the
 * way in which all of it ends.
 */
export class LockContext {
  readonly settings: LockSettings;
  readonly keys: KeySpace;
  readonly keeper: Keeper;
  readonly keysInUse: KeysInUse;
  /** Of this client, among all that share a Redis. */
  readonly id = randomUUID();
  readonly #contenders: WaitQueues[] = [];
  #nestedWaiting = 0;
  #lastOwner = 0;
  readonly #mark = randomBytes(NONCE_BYTES).toString('hex');
  /** Random bytes for nonces, made many at a time. */
  readonly #random = Buffer.alloc(64 * NONCE_BYTES);
  #randomAt = this.#random.length;
  #isClosing = false;

  constructor(
    readonly connection: RedisConnection,
    settings: Partial<LockSettings> = {},
    readonly clock: Clock = systemClock,
  ) {
    this.settings = resolveSettings(settings);
    this.keys = new KeySpace(this.settings.keyPrefix);
    this.keeper = new Keeper(connection, clock, this.settings);
    this.keysInUse = new KeysInUse(this.settings.maxKeys);
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Every top-level acquisition is a new owner: never the process, never the async chain. */
  newOwner(): OwnerId {
    return `${this.id}:${String(++this.#lastOwner)}`;
  }

  /** A text that nobody else can guess, whatever they have heard; ours to recognise. */
  newNonce(): string {
    if (this.#randomAt === this.#random.length) {
      randomFillSync(this.#random);
      this.#randomAt = 0;
    }
    const from = this.#randomAt;
    this.#randomAt += NONCE_BYTES;
    return this.#mark + this.#random.toString('hex', from, this.#randomAt);
  }

  isOurNonce(nonce: string): boolean {
    return nonce.startsWith(this.#mark);
  }

  /** So many names that nobody else gives to anything: 16 random bytes each, as hexadecimal digits. */
  newIds(count: number): string[] {
    const digits = randomBytes(16 * count).toString('hex');
    return digits.match(/.{32}/g) ?? [];
  }

  /** Those who wait for one kind of thing. */
  queues(isShared: boolean): WaitQueues {
    const contenders = new WaitQueues(this, isShared);
    this.#contenders.push(contenders);
    return contenders;
  }

  /** How many calls of this process wait. */
  get waiting(): number {
    return this.#contenders.reduce((sum, { waiting }) => sum + waiting, this.#nestedWaiting);
  }

  /** Counts a call that waits for its turn inside of a hold, which is in no line. */
  async countWaiting<T>(turn: Promise<T>): Promise<T> {
    this.#nestedWaiting += 1;
    try {
      return await turn;
    } finally {
      this.#nestedWaiting -= 1;
    }
  }

  /** From now on nobody gets a lock any more, and whoever waits is told so. Nested calls go on. */
  refuse(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    for (const contenders of this.#contenders) contenders.close();
  }

  /** Gives the holders `shutdownTimeoutMs` to finish, while their leases are still renewed. */
  async drain(): Promise<void> {
    this.refuse();
    await this.keeper.drain(this.settings.shutdownTimeoutMs);
  }

  /** Releases what is still held, and closes what this library opened. */
  async close(): Promise<void> {
    this.refuse();
    // An attempt on its way may be granted still: it must be there to be given back.
    await Promise.all(this.#contenders.map((contenders) => contenders.idle(ANSWER_MS)));
    await this.keeper.close();
    await this.connection.close();
  }
}
