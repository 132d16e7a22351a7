import { LockLimitError, LockShutdownError } from '../api/errors.js';
import type { Asker } from '../holding/asker.js';
import type { Hold, HoldListener } from '../holding/hold.js';
import type { Holds } from '../holding/holds.js';
import type { AcquireAnswer, OwnerId, ReleaseAnswer } from '../holding/protocol.js';
import type { Reply } from '../redis/connection.js';
import type { Session } from '../session.js';
import { Idle } from '../time/idle.js';
import { ByKey } from './by-key.js';
import { Crowds } from './crowds.js';
import type { KeysInUse, KeyUse } from './keys-in-use.js';
import type { Known } from './known.js';
import { Marks } from './marks.js';
import { besideMs, isAmongPolls } from './outsiders.js';
import { HandOverQueue } from './hand-over-queue.js';
import { WaitQueue } from './wait-queue.js';
import type { Waiter } from './waiter.js';

/** The queues of all keys of one kind. A queue without waiters leaves nothing behind. */
export class WaitQueues implements HoldListener {
  /** Queues that no `KeyUse` has, by id. */
  private readonly others = new ByKey<WaitQueue>();
  private size = 0;
  /** Waiters that have a queue each, by key. */
  private readonly crowds = new Crowds();
  /** Keys at which outsiders were seen a moment ago. */
  readonly besideOutsiders: Marks;
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
    /** A grant does not keep others out. */
    readonly isShared: boolean,
    private readonly keysInUse: KeysInUse,
    private readonly holds: Holds,
  ) {
    this.restful = new Idle(session.times, () => this.size === 0);
    this.kept = new Marks(session.times);
    this.besideOutsiders = new Marks(session.times, (key) => {
      if (isAmongPolls(session.settings)) this.queueOf(key)?.ask();
    });
    this.stopListening = session.connection.onUp(() => {
      for (const queue of this.all()) queue.ask();
    });
  }

  /** The number of waiters, without single attempts. */
  get waiting(): number {
    let waiting = 0;
    for (const { alone, queue } of this.keysInUse.values()) {
      if (alone?.queues === this && !alone.once) waiting += 1;
      if (queue?.queues === this) waiting += queue.waiters.waiting;
    }
    for (const queue of this.others.values()) waiting += queue.waiters.waiting;
    return waiting;
  }

  /**
   * Checks that the caller may wait. Returns the use of its key, if there is one.
   * @param isLetIn the limits do not concern it
   * @throws {LockShutdownError} the application is closing
   * @throws {LockLimitError} there is no room for another waiter, or for another key
   */
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
      if (this.waitersOf(asker.key, asker.queueId) >= most) {
        throw new LockLimitError(waiter.name, 'maxWaitersPerKey', most);
      }
    }
    return use;
  }

  /** @param use the use of its key */
  add(waiter: Waiter, use: KeyUse | undefined): void {
    const { asker } = waiter;
    const { key, queueId } = asker;
    const isInTurn = queueId === key;
    waiter.queues = this;
    const isAlone = use === undefined && isInTurn && asker.owner !== undefined;
    if (isAlone && this.session.settings.wakeUp === 'message' && !this.besideOutsiders.has(key)) {
      // A queue opens when others come, or when it has to wait.
      this.askAlone(waiter);
      return;
    }
    const queue = this.queueOf(key, queueId) ?? this.open(asker);
    // Before its attempt: the answer looks for it there.
    if (!waiter.once && !isInTurn) this.crowds.add(key, queueId);
    queue.add(waiter);
  }

  /** The answer to its attempt. */
  onReply(waiter: Waiter, attempt: number, reply: Reply<AcquireAnswer>): void {
    const { use } = waiter;
    const { value, sentAt } = reply;
    if (use?.alone !== waiter || value.kind !== 'granted') {
      this.queueFor(waiter)?.onReply(waiter, attempt, reply);
      return;
    }
    use.alone = undefined;
    this.size -= 1;
    waiter.grant(sentAt, value.fencingToken);
    this.restful.check();
  }

  /** The waiter has left, or has its grant. */
  leave(waiter: Waiter): void {
    const { queue } = waiter;
    if (queue === undefined) return;
    const { key, id } = queue;
    if (waiter.once || id === key) {
      queue.leave(waiter);
      return;
    }
    const leader = this.leaderOf(queue);
    const { known } = queue;
    queue.leave(waiter);
    this.crowds.delete(key, id);
    if (leader !== queue) return;
    // From now on the next queue sends attempts for all.
    const next = this.leaderOf(queue);
    if (known.kind === 'busy') next?.busy(Math.max(0, known.until - this.session.clock.now()));
    else next?.goOn();
  }

  /** The last answer for the waiters of this queue. */
  known(queue: WaitQueue): Known {
    return (this.leaderOf(queue) ?? queue).known;
  }

  // For a release.

  /** The holder releases. Returns the next waiter of this process, if there is one. */
  successor(hold: Hold): Waiter | undefined {
    this.forget(hold);
    const { key, countedKey } = hold;
    if (countedKey?.isOnly === true) return undefined;
    const queue = this.queueOf(key, this.crowds.firstOf(key) ?? key);
    return queue instanceof HandOverQueue ? queue.successor(hold) : undefined;
  }

  released(hold: Hold, next: Waiter, reply: Reply<ReleaseAnswer> | undefined): void {
    if (next.queue instanceof HandOverQueue) next.queue.onReleased(hold, next, reply);
  }

  /** The release left the lock to outsiders, or an attempt was refused for them. */
  leftToOutsiders({ key }: { readonly key: string }): void {
    this.besideOutsiders.set(key, besideMs(this.session.settings));
  }

  ended(hold: Hold): void {
    if (hold.keepMs > 0 && hold.mayBeTold) this.kept.set(hold.owner, hold.keepMs);
    if (this.forget(hold)) this.queueOf(hold.key)?.ask();
  }

  // For a queue.

  /** The hold of this process, if it hands over to waiters of this kind. */
  holderOf({ holder }: KeyUse): Hold | undefined {
    // Another kind of lock may have the same name. In Redis' queue each owner has its own place.
    return holder?.listener === this && holder.queueId === holder.key ? holder : undefined;
  }

  /** Outsiders that poll may acquire it first. The queue sends its attempt when that is over. */
  standsBack(id: string): boolean {
    return isAmongPolls(this.session.settings) && this.besideOutsiders.has(id);
  }

  /**
   * This owner is being released, or was released and still holds the key in Redis (`minHoldMs`).
   * Its release may go again, behind a script that is sent now.
   */
  isEnding(owner: OwnerId): boolean {
    return this.holds.isLeaving(owner) || this.kept.has(owner);
  }

  /** It polls for itself, and no other queue polls for it. */
  polls(queue: WaitQueue): boolean {
    const leader = this.leaderOf(queue);
    return leader === undefined || leader === queue;
  }

  /**
   * Passes on an answer that concerns other waiters of the key. `before` is the last known answer.
   */
  heard(queue: WaitQueue, answer: AcquireAnswer & { kind: 'busy' }, before: Known): void {
    const { isNew, siblings } = answer;
    if (answer.window !== undefined) this.leftToOutsiders(queue);
    const crowd = this.crowds.get(queue.key);
    if (crowd === undefined || this.leaderOf(queue) !== queue) return;
    // Its entry was lost, so the entries of the others may be, too.
    if (isNew === true && before.kind !== 'none') {
      for (const id of crowd.ids) if (id !== queue.id) this.others.get(id)?.ask();
    }
    if (siblings === undefined) return;
    this.others.get(siblings[0] ?? '')?.ask();
    // An owner enters Redis' queue only for a waiter of the crowd.
    const strays = siblings.filter((owner) => !crowd.ids.has(owner));
    if (strays.length > 0) void queue.waiters.first?.asker.cancelStrays?.(strays);
  }

  /** It has no waiters, and no attempt is on its way. */
  onIdle(queue: WaitQueue): void {
    if (queue.isOpen) {
      queue.isOpen = false;
      this.size -= 1;
      if (queue.use.queue === queue) queue.use.queue = undefined;
      else this.others.delete(queue.id);
      queue.use.end();
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
    this.besideOutsiders.close();
    this.kept.close();
    // From the last to the first: in Redis' queue no entry moves up for one that leaves at the end.
    for (const queue of this.all().reverse()) queue.close();
  }

  /** Resolves once no attempt is on its way, or the time is up. */
  idle(withinMs: number): Promise<void> {
    return this.restful.within(withinMs);
  }

  /** In the order in which their keys were first used. */
  private all(): WaitQueue[] {
    // Before `queueIn`, which may open one of them.
    const others = this.others.values();
    const queues = this.keysInUse.values().map((use) => this.queueIn(use));
    return [...queues, ...others].filter((queue) => queue?.queues === this) as WaitQueue[];
  }

  private queueOf(key: string, id = key): WaitQueue | undefined {
    const use = id === key ? this.keysInUse.get(key) : undefined;
    return (use === undefined ? undefined : this.queueIn(use)) ?? this.others.get(id);
  }

  /** The queue of this kind. Opens it for a waiter that has sent its attempts alone so far. */
  private queueIn({ alone, queue }: KeyUse): WaitQueue | undefined {
    if (alone?.queues === this) return this.queueFor(alone);
    return queue?.queues === this ? queue : undefined;
  }

  private askAlone(waiter: Waiter): void {
    const use = this.keysInUse.beginFirst(waiter.asker.key);
    this.size += 1;
    use.alone = waiter;
    waiter.use = use;
    waiter.since = 1;
    waiter.sendCountAtAsk = this.session.connection.sendCount;
    waiter.ask(undefined, 1);
  }

  /** The waiter's queue. Opens it if the waiter has sent its attempts alone so far. */
  queueFor(waiter: Waiter): WaitQueue | undefined {
    const { use, asker } = waiter;
    if (use?.alone === waiter) {
      use.alone = undefined;
      waiter.use = undefined;
      this.size -= 1;
      const queue = this.open(asker);
      use.end();
      queue.adopt(waiter);
    }
    return waiter.queue;
  }

  /** The queue that sends attempts for all waiters of the key, if there is one. */
  private leaderOf({ key, isLed }: WaitQueue): WaitQueue | undefined {
    return isLed ? this.others.get(this.crowds.firstOf(key) ?? '') : undefined;
  }

  private waitersOf(key: string, id: string): number {
    const waiters =
      id === key ? this.queueOf(key)?.waiters.waiting : this.crowds.get(key)?.ids.size;
    return waiters ?? 0;
  }

  private forget(hold: Hold): boolean {
    const use = hold.countedKey;
    if (use?.holder !== hold) return false;
    use.holder = undefined;
    return true;
  }

  private open(asker: Asker): WaitQueue {
    const use = this.keysInUse.begin(asker.key);
    const queue = queueFor(this, asker, use);
    this.size += 1;
    if (use.queue === undefined && asker.queueId === asker.key) use.queue = queue;
    else this.others.add(asker.queueId, queue);
    return queue;
  }
}

export function queueFor(queues: WaitQueues, asker: Asker, use: KeyUse): WaitQueue {
  const Queue = asker.isHandedOver === true ? HandOverQueue : WaitQueue;
  return new Queue(queues, asker, use);
}
