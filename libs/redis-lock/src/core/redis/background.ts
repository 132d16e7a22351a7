import { tell, type LockObserver, type LockSubject } from '../api/observer.js';
import { outOfScope, type Clock } from '../time/clock.js';
import type { RedisConnection, Reply } from './connection.js';
import { untilAnswered } from './retry.js';

interface Surroundings {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly settings: { readonly observer?: LockObserver | undefined };
}

/** Requests whose caller stopped waiting, or left before the grant came. */
export class Background {
  private readonly running = new Set<Promise<unknown>>();
  private isClosed = false;

  constructor(private readonly session: Surroundings) {}

  /**
   * Never rejects. It reports a failure to the observer. It may take minutes, so it keeps no
   * request's context.
   */
  run(work: () => Promise<unknown>, about?: LockSubject, leased = false): Promise<void> {
    return outOfScope(async () => {
      const running = work().catch((error: unknown) => {
        if (about === undefined) return;
        const { name, kind, label } = about;
        const { observer } = this.session.settings;
        tell(observer, { type: 'release-failed', name, kind, label, leased, error });
      });
      this.running.add(running);
      await running;
      this.running.delete(running);
    });
  }

  /**
   * Repeats the request until Redis has answered or the time is over. It also goes on while an
   * operator has to repair something.
   */
  untilDone<R>(endsAt: number, ask: () => Promise<Reply<R>>): Promise<Reply<R>> {
    const until = () => (this.isClosed ? -Infinity : endsAt);
    return untilAnswered(this.session, until, ask, undefined, true);
  }

  /** As `untilDone`, for this long, in the background. Never rejects. */
  insist(about: LockSubject, forMs: number, ask: () => Promise<Reply<unknown>>): Promise<void> {
    const endsAt = this.session.clock.now() + forMs;
    return this.run(() => this.untilDone(endsAt, ask), about);
  }

  /** Resolves once everything that runs now has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.running);
  }

  /** A request without an answer by now is not repeated. */
  close(): void {
    this.isClosed = true;
  }
}
