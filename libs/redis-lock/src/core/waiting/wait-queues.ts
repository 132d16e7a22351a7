import { ByKey } from './by-key.js';
import type { Timer } from '../time/clock.js';
import type {
  BusyAnswer,
  Contender,
  Departure,
  LastAnswer,
  QueueHost,
  WaitingPlace,
} from './contender.js';
import { LockLimitError } from '../api/errors.js';
import { standBackMs } from '../lua/outsiders.js';
import type { Hold, Succession, Successors } from '../holding/hold.js';
import { Idle } from '../time/idle.js';
import { WaitQueue } from './wait-queue.js';
import type { OwnerId } from '../holding/protocol.js';
import type { KeyUse } from './keys-in-use.js';
import type { LockContext } from '../lock-context.js';
import { outOfScope } from '../holding/scope.js';
import type { Call, Turn } from './waiter.js';

/** Those who wait for a key in lines of their own. */
class Crowd {
  readonly lines = new Set<string>();
  /** The owner that Redis names as first and that does not wait here: it may just have acquired. */
  stray: OwnerId | undefined;

  get first(): string | undefined {
    return this.lines.values().next().value;
  }
}

/** The lines of waiting callers, of one kind of lock. One in which nobody waits leaves nothing behind. */
export class WaitQueues implements Successors, QueueHost {
  readonly #queues = new ByKey<WaitQueue>();
  /** In the order of arrival. */
  readonly #crowds = new ByKey<Crowd>();
  /** What was left to outsiders a moment ago. */
  readonly #opened = new ByKey<Timer>();
  /** Owners that released a lock which stays taken, while a message of the grant may still come. */
  readonly #keeping = new Map<OwnerId, Timer | undefined>();
  readonly #stopListening: () => void;
  readonly #idle: Idle;

  constructor(
    readonly context: LockContext,
    readonly isShared: boolean,
  ) {
    this.#idle = new Idle(context.clock, () => this.#queues.size === 0);
    this.#stopListening = context.connection.onUp(() => {
      for (const queue of this.#queues.values()) queue.ask();
    });
  }

  /** How many callers are not content with one answer. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.waiters;
    return waiting;
  }

  /** @throws {LockLimitError} there is no room for one that waits, or for another key */
  admit({ name, once }: Call, turn: Turn): void {
    if (turn.isLetIn === true) return;
    const { settings, keysInUse } = this.context;
    const isFull = this.#waitersOf(turn) >= settings.maxWaitersPerKey;
    if (isFull && !once) {
      throw new LockLimitError(name, 'maxWaitersPerKey', settings.maxWaitersPerKey);
    }
    keysInUse.admit(turn.key, name);
  }

  /** Enters a caller; the returned function takes it out again. */
  enter(place: WaitingPlace, contender: Contender): () => Departure {
    const leave = (this.#queues.get(place.line) ?? this.#open(place)).enter(contender);
    const { key, line } = place;
    if (contender.once || line === key) return leave;
    const crowd = this.#crowds.get(key) ?? new Crowd();
    this.#crowds.set(key, crowd);
    const { lines } = crowd;
    lines.add(line);
    return () => {
      const leader = this.#leaderOf(place);
      const departure = leave();
      lines.delete(line);
      if (lines.size === 0 && this.#crowds.get(key) === crowd) this.#crowds.delete(key);
      if (leader === undefined) return departure;
      if (leader.place !== place) return { ...departure, last: leader.known };
      const { last } = departure;
      const next = this.#leaderOf(place);
      if (last.kind === 'busy') next?.busy(last.remainingMs);
      else next?.goOn();
      return departure;
    };
  }

  /** The last known answer for the waiters of this place. */
  known(place: WaitingPlace): LastAnswer {
    const queue = this.#leaderOf(place) ?? this.#queues.get(place.line);
    return queue?.known ?? { kind: 'none' };
  }

  /** A caller has it, after so many others of this process, the first of whom got it at that time. */
  holds(hold: Hold, passes: number, turnSince: number): void {
    hold.passes = passes;
    hold.turnSince = turnSince;
    hold.successors = this;
    if (hold.use !== undefined) hold.use.holder = hold;
  }

  next(hold: Hold): Succession | undefined {
    this.#forget(hold);
    const first = this.#crowds.get(hold.key)?.first;
    return this.#queues.get(first ?? hold.key)?.succeed(hold);
  }

  opened({ key }: Hold): void {
    this.#standBack(key, standBackMs(this.context.settings));
  }

  #standBack(key: string, forMs: number): void {
    const isOver = () => {
      this.#opened.delete(key);
      this.#queues.get(key)?.ask();
    };
    const { clock } = this.context;
    clock.cancel(this.#opened.get(key));
    const timer = outOfScope(() => clock.after(forMs, isOver));
    if (timer !== undefined) this.#opened.set(key, timer);
  }

  ended(hold: Hold): void {
    if (hold.keepMs > 0 && hold.mayBeTold) this.#keep(hold);
    if (this.#forget(hold)) this.#queues.get(hold.key)?.ask();
  }

  holder({ holder }: KeyUse): Hold | undefined {
    // Another kind of lock may have the same name.
    return holder?.successors === this ? holder : undefined;
  }

  standsBack(line: string): boolean {
    return this.#opened.get(line) !== undefined;
  }

  isKeptBy(owner: OwnerId): boolean {
    return this.#keeping.has(owner);
  }

  polls(place: WaitingPlace): boolean {
    const leader = this.#leaderOf(place);
    return leader === undefined || leader.place === place;
  }

  heard(place: WaitingPlace, answer: BusyAnswer, before: LastAnswer): void {
    const { isNew, sibling } = answer;
    if (answer.standBackMs !== undefined) this.#standBack(place.key, answer.standBackMs);
    const crowd = place.isLed === true ? this.#crowds.get(place.key) : undefined;
    if (crowd?.first !== place.line) return;
    // It has lost its place, as the others may have.
    if (isNew === true && before.kind !== 'none') {
      for (const line of crowd.lines) if (line !== place.line) this.#queues.get(line)?.ask();
    }
    const waiting = this.#queues.get(sibling ?? '');
    waiting?.ask();
    const stray = waiting === undefined ? sibling : undefined;
    // Named a second time, by an answer to a later question, it was granted nothing; unless it got in while
    // a slot of a Cluster was half way, without a look at the queue.
    const isStray = stray !== undefined && stray === crowd.stray;
    if (isStray && !this.#isHeldBy(stray)) void place.withdraw?.(stray);
    crowd.stray = stray;
  }

  onIdle(place: WaitingPlace): void {
    const queue = this.#queues.get(place.line);
    if (queue?.place === place) {
      this.#queues.delete(place.line);
      queue.use.end();
    }
    this.#idle.check();
  }

  /** Sends everybody away. */
  close(): void {
    this.#stopListening();
    const { clock } = this.context;
    for (const timer of this.#opened.values()) clock.cancel(timer);
    for (const timer of this.#keeping.values()) clock.cancel(timer);
    // Last come, first gone: in a queue in Redis nobody has to move up for one who leaves at its end.
    for (const queue of this.#queues.values().reverse()) queue.close();
  }

  /** Resolves once no attempt is on its way any more, or time is up. */
  idle(withinMs: number): Promise<void> {
    return this.#idle.within(withinMs);
  }

  /** The queue that asks for all waiters of the key, if one does. */
  #leaderOf({ key, isLed }: WaitingPlace): WaitQueue | undefined {
    return isLed === true ? this.#queues.get(this.#crowds.get(key)?.first ?? '') : undefined;
  }

  #waitersOf({ key, line }: WaitingPlace): number {
    const waiters =
      line === key ? this.#queues.get(line)?.waiters : this.#crowds.get(key)?.lines.size;
    return waiters ?? 0;
  }

  #isHeldBy(stray: OwnerId): boolean {
    return this.context.keeper.holds.some(({ owner }) => owner === stray);
  }

  #forget(hold: Hold): boolean {
    const { use } = hold;
    if (use?.holder !== hold) return false;
    use.holder = undefined;
    return true;
  }

  #keep({ owner, keepMs }: Hold): void {
    const isOver = () => {
      this.#keeping.delete(owner);
    };
    const timer = outOfScope(() => this.context.clock.after(keepMs, isOver));
    timer?.unref();
    this.#keeping.set(owner, timer);
  }

  #open(place: WaitingPlace): WaitQueue {
    const queue = new WaitQueue(this, place, this.context.keysInUse.begin(place.key));
    this.#queues.set(place.line, queue);
    return queue;
  }
}
