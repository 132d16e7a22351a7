import { LockLimitError, LockShutdownError } from '../api/errors.js';
import type { Asker } from '../holding/asker.js';
import { ByKey } from '../holding/by-key.js';
import type { Hold } from '../holding/hold.js';
import type { Holds } from '../holding/holds.js';
import type { KeysInUse, KeyUse } from '../holding/keys-in-use.js';
import type { AcquireAnswer, OwnerId, ReleaseAnswer } from '../holding/protocol.js';
import type { Reply } from '../redis/connection.js';
import type { Session } from '../session.js';
import { Idle } from '../time/idle.js';
import { Crowd } from './crowd.js';
import { HandOverQueue } from './hand-over-queue.js';
import { NONE } from './known.js';
import { Marks, Outsiders } from './outsiders.js';
import { WaitQueue, type Room } from './wait-queue.js';
import { Waiter, type Queue, type WaitingRoom } from './waiter.js';

/** The queues of all keys of one kind. A key leaves nothing behind once it has no waiters. */
export class WaitQueues implements Room, WaitingRoom, Queue {
  readonly outsiders: Outsiders;
  /**
   * By key. The only waiter of a key sends its first attempt without a queue, and stands here in its
   * place. A queue opens when others come, or when the waiter has to wait.
   */
  private readonly queues = new ByKey<WaitQueue | Waiter>();
  /** By owner, if each owner has a queue. */
  private readonly ofOwners = new ByKey<WaitQueue>();
  private readonly crowds = new ByKey<Crowd<WaitQueue>>();
  /**
   * Owners that have released a lock which `minHoldMs` keeps held. A message of the grant may still
   * come.
   */
  private readonly kept: Marks;
  private readonly stopListening: () => void;
  private readonly restful: Idle;
  private isClosed = false;
  private isEnded = false;

  constructor(
    readonly session: Session,
    readonly isShared: boolean,
    private readonly keysInUse: KeysInUse,
    private readonly holds: Holds,
  ) {
    this.restful = new Idle(session.times, () => this.queues.size + this.ofOwners.size === 0);
    this.kept = new Marks(session.times);
    this.outsiders = new Outsiders(session, (key) => {
      this.queueOf(key)?.ask();
    });
    this.stopListening = session.connection.onUp(() => {
      for (const queue of this.all()) queue.ask();
    });
  }

  /** The number of waiters, without single attempts. */
  get waiting(): number {
    let waiting = 0;
    for (const one of this.queues.values()) {
      waiting += one instanceof Waiter ? Number(!one.once) : one.waiters.waiting;
    }
    for (const { waiters } of this.ofOwners.values()) waiting += waiters.waiting;
    return waiting;
  }

  admit(waiter: Waiter, isLetIn: boolean): KeyUse | undefined {
    const { asker } = waiter;
    // A holder may finish its work, and so may a writer that reads.
    const isRefused = asker.companion === undefined ? this.isClosed : this.isEnded;
    if (isRefused) throw new LockShutdownError(waiter.name);
    const use = this.keysInUse.get(asker.key);
    if (isLetIn) return use;
    if (use === undefined) {
      const { most, size } = this.keysInUse;
      if (size >= most) throw new LockLimitError(waiter.name, 'maxKeys', most);
    } else if (!waiter.once) {
      const { maxWaitersPerKey: most } = this.session.settings;
      if (this.waitersOf(asker) >= most) {
        throw new LockLimitError(waiter.name, 'maxWaitersPerKey', most);
      }
    }
    return use;
  }

  add(waiter: Waiter, use: KeyUse | undefined): void {
    const { asker } = waiter;
    const { key, queueId } = asker;
    const isAlone = use === undefined && asker.owner !== undefined;
    if (isAlone && this.session.settings.wakeUp === 'message' && !this.outsiders.has(key)) {
      waiter.queue = this;
      waiter.use = this.keysInUse.beginFirst(key);
      waiter.sendCountAtAsk = this.session.connection.sendCount;
      this.queues.add(key, waiter);
      waiter.ask(undefined, 1);
      return;
    }
    const queue = this.queueOf(key);
    const isJoined = queue !== undefined && queueId === key;
    (isJoined ? queue : this.open(asker, this.keysInUse.begin(key))).add(waiter);
  }

  // As the queue of a waiter that is alone: its attempt is on its way.

  readonly known = NONE;

  isAsking(): boolean {
    return true;
  }

  onReply(waiter: Waiter, attempt: number, reply: Reply<AcquireAnswer>): void {
    const { value, sentAt } = reply;
    if (value.kind !== 'granted') {
      this.openFor(waiter).onReply(waiter, attempt, reply);
      return;
    }
    this.queues.delete(waiter.asker.key);
    waiter.grant(sentAt, value.fencingToken);
  }

  onError(waiter: Waiter, error: unknown): void {
    this.openFor(waiter).onError(waiter, error);
  }

  leave(waiter: Waiter): void {
    // The queue receives the answer to its attempt.
    if (!waiter.hasLock) this.openFor(waiter).leave(waiter);
  }

  // For a release.

  /** The holder releases. Returns the next waiter of this process, if there is one. */
  successor(hold: Hold): Waiter | undefined {
    const { key, countedKey } = hold;
    countedKey?.leftBy(hold);
    if (countedKey?.isOnly === true) return undefined;
    const queue = this.crowds.get(key)?.first ?? this.queueOf(key);
    return queue instanceof HandOverQueue ? queue.successor(hold) : undefined;
  }

  released(hold: Hold, next: Waiter, reply: Reply<ReleaseAnswer> | undefined): void {
    if (next.queue instanceof HandOverQueue) next.queue.onReleased(hold, next, reply);
  }

  ended(hold: Hold): void {
    if (hold.keepMs > 0 && hold.mayBeTold) this.kept.set(hold.owner, hold.keepMs);
    if (hold.countedKey?.leftBy(hold) === true) this.queueOf(hold.key)?.ask();
  }

  // For a queue.

  isEnding(owner: OwnerId): boolean {
    return this.holds.isLeaving(owner) || this.kept.has(owner);
  }

  onIdle({ id, key, crowd }: WaitQueue): void {
    if (crowd === undefined) this.queues.delete(key);
    else {
      this.ofOwners.delete(id);
      crowd.open -= 1;
      if (crowd.open === 0) this.crowds.delete(key);
    }
    this.restful.check();
  }

  /** Rejects every waiter, also those inside of a hold. */
  end(): void {
    this.isEnded = true;
    this.close();
  }

  /** Rejects every waiter. From now on only callers inside of a hold may wait. */
  close(): void {
    this.isClosed = true;
    this.stopListening();
    this.outsiders.close();
    this.kept.close();
    // From the last to the first: in Redis' queue no entry moves up for one that leaves at the end.
    for (const queue of this.all().reverse()) queue.close();
  }

  /** Resolves once no attempt is on its way, or the time is up. */
  idle(withinMs: number): Promise<void> {
    return this.restful.within(withinMs);
  }

  /** Every waiter has a queue from now on. */
  private all(): WaitQueue[] {
    for (const one of this.queues.values()) if (one instanceof Waiter) this.openFor(one);
    return [...(this.queues.values() as WaitQueue[]), ...this.ofOwners.values()];
  }

  /** If the key has one queue. A waiter that was alone has its queue from now on. */
  private queueOf(key: string): WaitQueue | undefined {
    const one = this.queues.get(key);
    return one instanceof Waiter ? this.openFor(one) : one;
  }

  private openFor(waiter: Waiter): WaitQueue {
    const { asker } = waiter;
    // A waiter that is alone has one.
    const use = waiter.use as KeyUse;
    this.queues.delete(asker.key);
    waiter.use = undefined;
    const queue = this.open(asker, use);
    queue.adopt(waiter);
    return queue;
  }

  /** @param use a use of its key, which ends with the queue */
  private open(asker: Asker, use: KeyUse): WaitQueue {
    const { key, queueId } = asker;
    const crowd = queueId === key ? undefined : this.crowdOf(key);
    const queue = newQueue(this, asker, use, crowd);
    if (crowd === undefined) this.queues.add(key, queue);
    else {
      crowd.open += 1;
      this.ofOwners.add(queueId, queue);
    }
    return queue;
  }

  private crowdOf(key: string): Crowd<WaitQueue> {
    let crowd = this.crowds.get(key);
    if (crowd === undefined) this.crowds.add(key, (crowd = new Crowd()));
    return crowd;
  }

  private waitersOf({ key, queueId }: Asker): number {
    const queue = this.queueOf(key);
    return (queueId === key ? queue?.waiters.waiting : this.crowds.get(key)?.size) ?? 0;
  }
}

export function newQueue(
  room: Room,
  asker: Asker,
  use: KeyUse,
  crowd?: Crowd<WaitQueue>,
): WaitQueue {
  const Class = asker.isHandedOver === true ? HandOverQueue : WaitQueue;
  return new Class(room, asker, use, crowd);
}
