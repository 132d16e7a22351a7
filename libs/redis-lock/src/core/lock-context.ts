import type { LockKind } from './api/observer.js';
import type { LockSettings } from './api/settings.js';
import type { Hold } from './holding/hold.js';
import { Holds } from './holding/holds.js';
import { KeysInUse } from './holding/keys-in-use.js';
import type { OwnerId } from './holding/protocol.js';
import { Unleased } from './holding/unleased.js';
import { ANSWER_MS, type RedisConnection } from './redis/connection.js';
import { Session } from './session.js';
import { systemClock, type Clock } from './time/clock.js';
import { systemRandom, type Random } from './time/random.js';
import { WaitQueues } from './waiting/wait-queues.js';

/** Everything that the locks of one connection share, and how all of it ends. */
export class LockContext extends Session {
  readonly holds: Holds;
  readonly unleased: Unleased;
  readonly keysInUse: KeysInUse;
  private readonly allQueues = new Map<LockKind, WaitQueues>();
  private nestedWaiting = 0;
  private isClosing = false;

  constructor(
    connection: RedisConnection,
    settings: Partial<LockSettings> = {},
    clock: Clock = systemClock,
    random: Random = systemRandom,
  ) {
    super(connection, settings, clock, random);
    this.holds = new Holds(this);
    this.unleased = new Unleased(this.times);
    this.keysInUse = new KeysInUse(this.settings.maxKeys);
  }

  /** The queues of one kind. Two services of one kind share them. */
  queues(kind: LockKind, isShared: boolean): WaitQueues {
    let queues = this.allQueues.get(kind);
    if (queues === undefined) {
      queues = new WaitQueues(this, isShared, this.keysInUse, this.holds);
      this.allQueues.set(kind, queues);
      if (this.isClosing) queues.close();
    }
    return queues;
  }

  /** The holds of a key. Costs nothing if this process does not use the key. */
  holdsOn(key: string): readonly Hold[] {
    return this.keysInUse.get(key) === undefined ? [] : this.holds.on(key);
  }

  /** This owner, or this permit, was taken away. A hold of this process that has it is lost. */
  takenAway(key: string, owner: OwnerId): void {
    for (const hold of this.holdsOn(key)) {
      if (hold.owner.split(',').includes(owner)) this.holds.lose(hold, 'gone');
    }
  }

  /** The number of waiting calls in this process. */
  get waiting(): number {
    let sum = this.nestedWaiting;
    for (const { waiting } of this.allQueues.values()) sum += waiting;
    return sum;
  }

  /** Counts a nested call that waits for its sibling, and so is in no queue. */
  async countWaiting<T>(turn: Promise<T>): Promise<T> {
    this.nestedWaiting += 1;
    try {
      return await turn;
    } finally {
      this.nestedWaiting -= 1;
    }
  }

  /** From now on every call and every waiter rejects. Nested calls still acquire. */
  refuse(): void {
    if (this.isClosing) return;
    this.isClosing = true;
    for (const queues of this.allQueues.values()) queues.close();
  }

  /** Gives the holders `shutdownTimeoutMs` to finish. The watchdog still renews their leases. */
  async drain(): Promise<void> {
    this.refuse();
    const { shutdownTimeoutMs } = this.settings;
    await Promise.all([
      this.holds.drain(shutdownTimeoutMs),
      this.unleased.drain(shutdownTimeoutMs),
    ]);
  }

  /** Releases everything that is still held, and closes the clients that this library opened. */
  async close(): Promise<void> {
    this.refuse();
    // A running attempt may still be granted. Wait for it, so that it can be released.
    const queues = [...this.allQueues.values()];
    for (const one of queues) one.end();
    await Promise.all(queues.map((one) => one.idle(ANSWER_MS)));
    await this.holds.close();
    await this.connection.close();
  }
}
