import type { Channels } from '../holding/asker.js';
import type { ChannelListener } from '../redis/connection.js';
import type { Session } from '../session.js';
import { queueMicrotask } from '../time/clock.js';
import { FIRST_BACKOFF_MS, jittered, LAST_BACKOFF_MS } from '../time/polls.js';
import { Moment, type Group, type Timed } from '../time/timer-heap.js';
import type { Known } from './known.js';
import { SHORTER } from './outsiders.js';

/**
 * Waiters behind a local holder subscribe to nothing for this time: its release ends their wait.
 */
const MOMENT_MS = 50;

/** The message of a free lock. */
const FREE = '0';
/** The shortest time between two polls for a lease that is about to end. */
const SHORTEST_POLL_MS = 20;
/** While Redis answers with passing errors. */
const RETRY_MS = 250;

/** A queue, as wake-ups call it. */
export interface WakeUpListener {
  /** Computed when it is first needed. */
  readonly channels: Channels;
  /** The lock may be free. This read contained so many messages that say so. */
  hint(messages: number): void;
  /** The lock may have been handed over to this process. */
  pushed?(payload: string): void;
  /** It is time for an attempt, with or without a message. */
  onPoll(): void;
}

/** Messages that wake the waiters of one key, and polls in case none arrive. */
export class WakeUps implements Timed {
  /** The place of the next poll. */
  heapIndex = -1;
  group: Group | undefined = undefined;
  /** Messages of grants arrive. A grant to an earlier claim would reach no listener. */
  hearsGrants = false;
  /** The subscription was not confirmed in time: polls find grants. */
  isDeaf = false;
  private dueAt = 0;
  private backoffMs = FIRST_BACKOFF_MS;
  /** The messages of this read. */
  private hints = 0;
  private later: Moment | undefined = undefined;
  private stops: (() => void)[] | undefined = undefined;

  constructor(
    private readonly session: Session,
    private readonly listener: WakeUpListener,
  ) {}

  /**
   * Sets the next poll after this answer.
   * @param isOurs a caller of this process has the lock, or its grant: a poll before its end stays
   */
  pollAfter(known: Known, isOurs = false): void {
    if (isOurs && this.isSet && known.kind === 'busy' && this.dueAt <= known.until) return;
    const { settings, clock, random } = this.session;
    const { pollIntervalMs, wakeUp } = settings;
    if (known.kind !== 'busy') {
      this.pollIn(jittered(Math.min(pollIntervalMs, RETRY_MS), random));
      return;
    }
    const pollMs = wakeUp === 'message' ? pollIntervalMs : this.nextBackoff(pollIntervalMs);
    const leftMs = Math.max(SHORTEST_POLL_MS, known.until - clock.now() + 1);
    this.pollIn(Math.min(jittered(pollMs, random), leftMs));
  }

  pollIn(delayMs = this.session.settings.pollIntervalMs): void {
    this.dueAt = this.session.clock.now() + delayMs;
    this.session.times.set(this, this.dueAt);
  }

  get isSet(): boolean {
    return this.heapIndex !== -1;
  }

  /** The lock was granted: from now on the waiters wait for another holder. */
  restart(): void {
    this.backoffMs = FIRST_BACKOFF_MS;
  }

  onDue(): void {
    this.isDeaf = this.stops !== undefined && !this.hearsGrants;
    this.listener.onPoll();
  }

  /** A hold of this process has the lock: its release ends the wait of the local waiters. */
  expect(): void {
    if (this.stops !== undefined || this.later !== undefined) return;
    this.later = new Moment(() => {
      this.listen();
    });
    this.session.times.set(this.later, this.session.clock.now() + MOMENT_MS);
  }

  /** Another process holds it. */
  listen(): void {
    if (this.stops !== undefined) return;
    const { connection } = this.session;
    const { wakeUp, nodes, grants } = this.listener.channels;
    const isShared = grants === wakeUp;
    // Subscribed first, and left last: else others would take this process for an outsider.
    // Each queue has its own listener: a reader and a writer of one lock both listen here.
    const silent: ChannelListener = { message: () => undefined, confirmed: () => undefined };
    this.stops = nodes === undefined ? [] : [connection.listen(nodes, silent)];
    if (!isShared) this.stops.push(connection.listen(wakeUp, this.wakeUps()));
    if (grants !== undefined) this.stops.push(connection.listen(grants, this.pushes(isShared)));
  }

  /** The subscriptions end after the waiter with the grant has gone on. */
  stop(): void {
    const { clock, times } = this.session;
    times.delete(this);
    if (this.later !== undefined) times.delete(this.later);
    const { stops } = this;
    // It never listens again.
    this.stops = [];
    if (stops === undefined) return;
    clock.afterReading(() => {
      for (const stop of stops.reverse()) stop();
    });
  }

  private wakeUps(): ChannelListener {
    return {
      // A process in the queue need not know that the lease is shorter.
      message: (payload) => {
        if (payload !== SHORTER) this.hint();
      },
      confirmed: () => {
        this.hint();
      },
    };
  }

  /** @param isShared the channel carries wake-ups as well */
  private pushes(isShared: boolean): ChannelListener {
    return {
      message: (payload) => {
        if (isShared && payload === FREE) this.hint();
        else this.listener.pushed?.(payload);
      },
      confirmed: () => {
        this.hearsGrants = true;
        this.hint();
      },
      lost: () => {
        this.hearsGrants = false;
      },
    };
  }

  /** Once for all messages of one read. */
  private hint(): void {
    this.hints += 1;
    if (this.hints > 1) return;
    queueMicrotask(() => {
      const { hints } = this;
      this.hints = 0;
      this.listener.hint(hints);
    });
  }

  private nextBackoff(pollIntervalMs: number): number {
    const { backoffMs } = this;
    this.backoffMs = Math.min(2 * backoffMs, LAST_BACKOFF_MS);
    return Math.min(backoffMs, pollIntervalMs);
  }
}
