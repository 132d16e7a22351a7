import type { Asker } from '../../libs/redis-lock/src/core/holding/asker.js';
import type { AcquireAnswer } from '../../libs/redis-lock/src/core/holding/protocol.js';
import type { Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import type { Refusal } from '../../libs/redis-lock/src/core/waiting/known.js';
import type { WaitQueues } from '../../libs/redis-lock/src/core/waiting/wait-queues.js';
import { Waiter, type GRANTED } from '../../libs/redis-lock/src/core/waiting/waiter.js';

export const answer = (value: AcquireAnswer): Reply<AcquireAnswer> => ({
  value,
  sentAt: 0,
  resent: false,
});
export const GRANT = answer({ kind: 'granted', fencingToken: undefined });
export const BUSY = answer({ kind: 'busy', remainingMs: 5_000 });
export const LEFT = new Error('left');

/** A caller whose attempts are answered by the spec, or never. */
export class Caller implements Asker {
  readonly key = 'a';
  readonly queueId = 'a';
  readonly leaseTimeMs = 30_000;
  /** Where callers hold what they are granted. */
  owner?: string;
  readonly attempts: ((reply: Reply<AcquireAnswer>) => void)[] = [];
  readonly outcomes: (typeof GRANTED | Refusal | Error)[] = [];
  cancelled = 0;
  waiter: Waiter | undefined;
  readonly abort = new AbortController();

  constructor(
    once = false,
    private readonly waitTimeMs = once ? 0 : Infinity,
  ) {}

  enter(queues: WaitQueues): void {
    const { session } = queues;
    const [subject, now] = [{ name: 'a', kind: 'lock' } as const, session.clock.now()];
    this.waiter = new Waiter(session, this, subject, this.waitTimeMs, this.abort.signal, now);
    const end = (outcome: typeof GRANTED | Refusal | Error) => void this.outcomes.push(outcome);
    this.waiter.waitIn(queues).then(end, end);
  }

  leave(): void {
    this.abort.abort(LEFT);
  }

  channels = () => ({ wakeUp: 'c' });
  ask = () => new Promise<Reply<AcquireAnswer>>((resolve) => this.attempts.push(resolve));
  cancel = () => {
    this.cancelled += 1;
    return Promise.resolve();
  };
}
