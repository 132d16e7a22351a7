import type { Channels } from '../holding/asker.js';
import type { ChannelListener } from '../redis/connection.js';
import { SHORTER } from '../lua/outsiders.js';
import type { Session } from '../session.js';
import { queueMicrotask } from '../time/clock.js';
import { FIRST_BACKOFF_MS, jittered, LAST_BACKOFF_MS } from '../time/polls.js';
import { Moment, type Timed } from '../time/timer-heap.js';
import type { Known } from './known.js';

/** Waiters behind a holder of their own process trust for this time that it tells them. */
const MOMENT_MS = 50;

/** That a lock is free. */
const FREE = '0';
/** After an answer that a lease is about to end, Redis is asked again no sooner than this. */
const SHORTEST_POLL_MS = 20;
/** While Redis answers with passing errors. */
const RETRY_MS = 250;

/** Asked to try again, or told that the lock was handed over. */
export interface WakeUpListener {
  /** Computed when it is first needed. */
  readonly channels: Channels;
  /** It may be worth to ask. */
  hint(): void;
  /** The lock may have been handed over to this process. */
  pushed?(payload: string): void;
  /** It is time to ask, whatever was heard. */
  onPoll(): void;
}

/** What wakes the waiters of one key: messages, and polls should none come. */
export class WakeUps implements Timed {
  /** The place of the next poll. */
  heapIndex = -1;
  /** Whether grants arrive: a claim before that would be passed over. */
  hearsGrants = false;
  /** Grants should arrive by now, and do not: polls find them. */
  isDeaf = false;
  private backoffMs = FIRST_BACKOFF_MS;
  private isHinting = false;
  private later: Moment | undefined = undefined;
  private stops: (() => void)[] | undefined = undefined;

  constructor(
    private readonly session: Session,
    private readonly listener: WakeUpListener,
  ) {}

  /** Polls after this answer, should nothing wake the waiters before. */
  pollAfter(known: Known): void {
    const { settings, clock } = this.session;
    const { pollIntervalMs, wakeUp } = settings;
    if (known.kind !== 'busy') {
      this.pollIn(jittered(Math.min(pollIntervalMs, RETRY_MS)));
      return;
    }
    const pollMs = wakeUp === 'message' ? pollIntervalMs : this.nextBackoff(pollIntervalMs);
    const leftMs = Math.max(SHORTEST_POLL_MS, known.until - clock.now() + 1);
    this.pollIn(Math.min(jittered(pollMs), leftMs));
  }

  pollIn(delayMs = this.session.settings.pollIntervalMs): void {
    this.session.times.set(this, this.session.clock.now() + delayMs);
  }

  /** The lock was granted: the waiters wait for another holder now. */
  restart(): void {
    this.backoffMs = FIRST_BACKOFF_MS;
  }

  onDue(): void {
    this.isDeaf = this.stops !== undefined && !this.hearsGrants;
    this.listener.onPoll();
  }

  /** A hold of this process has the lock, and tells the waiters of this process by itself. */
  expect(): void {
    if (this.stops !== undefined || this.later !== undefined) return;
    this.later = new Moment(() => {
      this.listen();
    });
    this.session.times.set(this.later, this.session.clock.now() + MOMENT_MS);
  }

  /** Another process has it. */
  listen(): void {
    if (this.stops !== undefined) return;
    const { connection } = this.session;
    const { wakeUp, nodes, grants } = this.listener.channels;
    const isShared = grants === wakeUp;
    // First, and last to leave: else others would take this process for an outsider.
    // Each with a listener of its own: a reader and a writer of one lock listen here both.
    const silent: ChannelListener = { message: () => undefined, confirmed: () => undefined };
    this.stops = nodes === undefined ? [] : [connection.listen(nodes, silent)];
    if (!isShared) this.stops.push(connection.listen(wakeUp, this.wakeUps()));
    if (grants !== undefined) this.stops.push(connection.listen(grants, this.pushes(isShared)));
  }

  stop(): void {
    const { times } = this.session;
    times.delete(this);
    if (this.later !== undefined) times.delete(this.later);
    for (const stop of this.stops?.reverse() ?? []) stop();
    this.stops = [];
  }

  private wakeUps(): ChannelListener {
    return {
      // Those in a queue know who has it.
      message: (payload) => {
        if (payload !== SHORTER) this.hint();
      },
      confirmed: () => {
        this.hint();
      },
    };
  }

  /** @param isShared wake-ups arrive on the same channel */
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
    };
  }

  /** Once for all that is heard in one go. */
  private hint(): void {
    if (this.isHinting) return;
    this.isHinting = true;
    queueMicrotask(() => {
      this.isHinting = false;
      this.listener.hint();
    });
  }

  private nextBackoff(pollIntervalMs: number): number {
    const { backoffMs } = this;
    this.backoffMs = Math.min(2 * backoffMs, LAST_BACKOFF_MS);
    return Math.min(backoffMs, pollIntervalMs);
  }
}
