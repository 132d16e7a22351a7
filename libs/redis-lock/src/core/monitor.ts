import { Deadline, OVER } from './time/deadline.js';
import { LockBackendError } from './api/errors.js';
import { helperKey } from './redis/key-names.js';
import type { LockContext } from './lock-context.js';
import { checkCount } from './api/options.js';
import { ANSWER_MS } from './redis/connection.js';
import { defineScript } from './redis/script.js';

/** The locks of one process on one connection, at one moment. */
export interface LockStatus {
  /** The name of the connection. */
  readonly connection: string;
  /** Whether commands can be sent, as far as the client knows. To be sure, ask by `ping`. */
  readonly isUp: boolean;
  /** Wake-up messages arrive, or no waiter needs any; otherwise waiters poll. */
  readonly isHearing: boolean;
  /** The number of holds: of locks, with any hold count, and of permits that are leases. */
  readonly held: number;
  /**
   * How many of these Redis has not confirmed in time, or not since the machine stood still: they are
   * lost unless a renewal gets through.
   */
  readonly suspect: number;
  /** How many calls wait for a lock, for permits or for a latch. */
  readonly waiting: number;
}

/**
 * Writes, because a server that only answers grants no lock: a replica, one without memory, one that
 * cannot save.
 */
export const PING = defineScript({
  name: 'ping',
  keys: ['ping'],
  args: [],
  body: `
redis.call('set', ping, '', 'px', 1)
return 1`,
  reply: (raw) => (raw === 1 ? raw : undefined),
});

const TIMEOUT = { min: 1, max: 60_000 };

/** Tells how the locks of one connection are, for health checks and metrics. */
export class LockMonitor {
  /** @param others connections of the same name, to other servers */
  constructor(
    private readonly context: LockContext,
    private readonly others: readonly LockContext[] = [],
  ) {}

  /** The holds and waiters of this process at this moment. Sends nothing. */
  status(): LockStatus {
    const { settings, connection } = this.context;
    const all = [this.context, ...this.others];
    const holds = all.flatMap((context) => context.holds.all);
    return {
      connection: settings.name,
      isUp: connection.isUp,
      isHearing: connection.isHearing ?? true,
      held: holds.length,
      suspect: holds.filter(({ state }) => state === 'suspect').length,
      waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  /**
   * Resolves with how long Redis took, in milliseconds, to do what a lock needs: to run a script that
   * writes. In a Cluster one master answers for all.
   * @throws {LockArgumentError} `timeoutMs` is no whole number from 1 to 60,000
   * @throws {LockBackendError} Redis cannot be used for locks, or has not answered for `timeoutMs`
   */
  async ping(timeoutMs = ANSWER_MS): Promise<number> {
    checkCount('timeoutMs', timeoutMs, TIMEOUT);
    const { connection, times, keys } = this.context;
    const deadline = new Deadline(times, timeoutMs, undefined);
    const ping = helperKey('nestjs_ping', keys.key('ping'));
    if ((await deadline.race(connection.run(PING, [ping], []))) !== OVER) return deadline.waitedMs;
    throw new LockBackendError(`Redis has not answered for ${String(timeoutMs)} ms`, {
      retryable: true,
      outcome: 'unknown',
    });
  }
}
