import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from './clock.js';
import type { EnterAnswer } from './hold-protocol.js';
import { KeyQueue, type Contender, type LastAnswer, type Outcome } from './key-queue.js';
import type { RedisConnection, Reply } from './redis-connection.js';

const POLL_MS = 1_000;
const GRANT: Reply<EnterAnswer> = {
  value: { kind: 'granted', fencingToken: undefined },
  sentAt: 0,
  resent: false,
};

/** A caller whose attempts are answered by the spec, or never. */
class Caller implements Contender {
  readonly name = 'a';
  readonly leaseTimeMs = 30_000;
  readonly once = false;
  readonly isUncertain = false;
  readonly attempts: ((reply: Reply<EnterAnswer>) => void)[] = [];
  readonly outcomes: (Outcome | Error)[] = [];
  readonly polls: LastAnswer[] = [];
  grantsTooLate = 0;

  ask = () => new Promise<Reply<EnterAnswer>>((resolve) => this.attempts.push(resolve));
  settle = (outcome: Outcome) => this.outcomes.push(outcome);
  fail = (error: Error) => this.outcomes.push(error);
  stillWaiting = (last: LastAnswer) => this.polls.push(last);
  tooLate = () => {
    this.grantsTooLate++;
    return Promise.resolve();
  };
}

describe('KeyQueue', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  function open(): KeyQueue {
    const connection = { listen: () => () => undefined } as unknown as RedisConnection;
    const onIdle = () => undefined;
    const place = { connection, clock: systemClock, pollIntervalMs: POLL_MS, channel: 'c', onIdle };
    return new KeyQueue(place);
  }

  it.each(['before', 'after'])(
    'goes on with a caller that came %s the one without an answer left',
    async (when) => {
      const queue = open();
      const [gone, next] = [new Caller(), new Caller()];
      const leave = queue.enter(gone);
      if (when === 'after') leave();
      queue.enter(next);
      if (when === 'before') leave();
      expect(next.attempts).toHaveLength(0);
      jest.advanceTimersByTime(POLL_MS);
      expect(next.attempts).toHaveLength(1);
      next.attempts[0]?.(GRANT);
      await jest.advanceTimersByTimeAsync(0);
      expect(next.outcomes).toEqual([{ kind: 'granted', reply: GRANT }]);

      gone.attempts[0]?.(GRANT);
      await jest.advanceTimersByTimeAsync(0);
      expect(gone).toMatchObject({ grantsTooLate: 1, outcomes: [] });
    },
  );

  it('lets a caller know that its only attempt is still not answered', async () => {
    const queue = open();
    const caller = new Caller();
    queue.enter(caller);
    jest.advanceTimersByTime(3 * POLL_MS);
    expect(caller.polls).toEqual([{ kind: 'none' }, { kind: 'none' }, { kind: 'none' }]);
    expect(caller.attempts).toHaveLength(1);
    caller.attempts[0]?.(GRANT);
    await jest.advanceTimersByTimeAsync(0);
    expect(caller.outcomes).toHaveLength(1);
  });
});
