import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Contender, Outcome, QueueHost } from './contender.js';
import type { AcquireAnswer } from '../holding/protocol.js';
import { WaitQueue } from './wait-queue.js';
import { LockContext } from '../lock-context.js';
import type { RedisConnection, Reply } from '../redis/connection.js';

const POLL_MS = 1_000;
const answer = (value: AcquireAnswer): Reply<AcquireAnswer> => ({
  value,
  sentAt: 0,
  resent: false,
});
const GRANT = answer({ kind: 'granted', fencingToken: undefined });
const BUSY = answer({ kind: 'busy', remainingMs: 5_000 });
const granted = { kind: 'granted', reply: GRANT };
const busy = { kind: 'busy', remainingMs: expect.any(Number) as unknown };

/** A caller whose attempts are answered by the spec, or never. */
class Caller implements Contender {
  readonly name = 'a';
  readonly leaseTimeMs = 30_000;
  readonly isUncertain = false;
  readonly waitedMs = 0;
  hasLock = false;
  seat: Contender['seat'];
  readonly attempts: ((reply: Reply<AcquireAnswer>) => void)[] = [];
  readonly outcomes: (Outcome | Error)[] = [];
  grantsTooLate = 0;

  constructor(readonly once = false) {}

  ask: Contender['ask'] = (_, answered) => this.attempts.push(answered);
  settle = (outcome: Outcome) => {
    this.outcomes.push(outcome);
    this.hasLock = outcome.kind === 'granted';
  };
  isNamedBy = () => undefined;
  fail = (error: Error) => this.outcomes.push(error);
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

  function open(wakeUp: 'message' | 'poll' = 'message'): WaitQueue {
    const connection = {
      listen: () => () => undefined,
      onUp: () => () => undefined,
    } as unknown as RedisConnection;
    const host: QueueHost = {
      context: new LockContext(connection, { pollIntervalMs: POLL_MS, wakeUp }),
      isShared: false,
      holder: () => undefined,
      standsBack: () => false,
      isKeptBy: () => false,
      polls: () => true,
      heard: () => undefined,
      onIdle: () => undefined,
    };
    const place = { key: 'a', line: 'a', channels: () => ({ wakeUp: 'c' }) };
    return new WaitQueue(host, place, host.context.keysInUse.begin('a'));
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
      expect(next.outcomes).toEqual([granted]);

      gone.attempts[0]?.(GRANT);
      await jest.advanceTimersByTimeAsync(0);
      expect(gone).toMatchObject({ grantsTooLate: 1, outcomes: [] });
    },
  );

  /** The answer to the latest attempt of the caller arrives. */
  async function reply(caller: Caller, to = BUSY): Promise<void> {
    caller.attempts.at(-1)?.(to);
    await jest.advanceTimersByTimeAsync(0);
  }

  describe('answers a caller that does not wait', () => {
    it.each(['has left', 'does not wait either'])(
      'by an attempt of its own, when the one ahead %s',
      async (how) => {
        const queue = open();
        const [ahead, late] = [new Caller(how !== 'has left'), new Caller(true)];
        const leave = queue.enter(ahead);
        await jest.advanceTimersByTimeAsync(1);
        if (how === 'has left') leave();
        queue.enter(late);
        // The lock may have been released after this was asked, and before the late one came.
        await reply(ahead);
        expect(late.outcomes).toEqual([]);
        await reply(late, GRANT);
        expect(late).toMatchObject({ outcomes: [granted], grantsTooLate: 0 });
      },
    );

    it('not by an answer that a newer attempt has overtaken', async () => {
      const queue = open();
      const [gone, late] = [new Caller(), new Caller(true)];
      const leave = queue.enter(gone);
      await jest.advanceTimersByTimeAsync(1);
      leave();
      queue.enter(late);
      await jest.advanceTimersByTimeAsync(POLL_MS);
      expect(late.attempts).toHaveLength(1);
      await reply(gone);
      expect(late.outcomes).toEqual([]);
      await reply(late, GRANT);
      expect(late).toMatchObject({ outcomes: [granted], grantsTooLate: 0 });
    });

    it('by the attempt that is sent in the turn in which it comes', async () => {
      const queue = open();
      const callers = [new Caller(true), new Caller(true), new Caller(true)];
      for (const caller of callers) queue.enter(caller);
      await reply(callers[0] as Caller);
      for (const { outcomes } of callers) expect(outcomes).toEqual([busy]);
      expect(callers.flatMap(({ attempts }) => attempts)).toHaveLength(1);
    });

    it('at once, when the lock is not free and others are ahead', async () => {
      const queue = open();
      const [ahead, late] = [new Caller(), new Caller(true)];
      const leave = queue.enter(ahead);
      await reply(ahead);
      queue.enter(late);
      expect(late).toMatchObject({ outcomes: [busy], attempts: [] });
      leave();
    });

    it('when a caller of the same process gets the lock', async () => {
      const queue = open();
      const [ahead, late] = [new Caller(), new Caller(true)];
      queue.enter(ahead);
      await jest.advanceTimersByTimeAsync(1);
      queue.enter(late);
      await reply(ahead, GRANT);
      expect(ahead.outcomes).toEqual([granted]);
      expect(late).toMatchObject({ outcomes: [busy], attempts: [] });
    });
  });

  describe('by a grant that holds for all', () => {
    const FOR_ALL = answer({ kind: 'granted', fencingToken: undefined, isForAll: true });

    it('lets everybody go on who was there when it was asked for, also behind one that left', async () => {
      const queue = open();
      const [first, second, third, late] = Array.from({ length: 4 }, () => new Caller());
      const leave = queue.enter(first as Caller);
      queue.enter(second as Caller);
      queue.enter(third as Caller);
      await jest.advanceTimersByTimeAsync(1);
      queue.enter(late as Caller);
      leave();
      await reply(first as Caller, FOR_ALL);
      expect(first).toMatchObject({ outcomes: [], grantsTooLate: 0 });
      for (const caller of [second, third]) {
        expect(caller?.outcomes).toEqual([{ kind: 'granted', reply: FOR_ALL }]);
        expect(caller?.attempts).toEqual([]);
      }
      expect(late?.outcomes).toEqual([]);
      await reply(late as Caller, FOR_ALL);
      expect(late?.outcomes).toHaveLength(1);
    });
  });

  it.each([
    ['a fifth', 0, 0.8],
    ['nothing', 1, 1],
  ])(
    'pauses from 2 to 128 ms where there are no messages, less %s at random',
    async (_, dice, part) => {
      const chance = jest.spyOn(Math, 'random').mockReturnValue(dice);
      const queue = open('poll');
      const caller = new Caller();
      const leave = queue.enter(caller);
      for (const [asked, pauseMs] of [2, 4, 8, 16, 32, 64, 128, 128].entries()) {
        await reply(caller);
        const earliestMs = Math.floor(part * pauseMs) - 1;
        await jest.advanceTimersByTimeAsync(earliestMs);
        expect(caller.attempts).toHaveLength(asked + 1);
        await jest.advanceTimersByTimeAsync(Math.ceil(part * pauseMs) - earliestMs);
        expect(caller.attempts).toHaveLength(asked + 2);
      }
      leave();
      chance.mockRestore();
    },
  );

  it('knows nothing while Redis does not answer, and what it has answered otherwise', async () => {
    const queue = open();
    const caller = new Caller();
    queue.enter(caller);
    await reply(caller);
    expect(queue.known).toEqual(busy);
    jest.advanceTimersByTime(POLL_MS);
    expect(caller.attempts).toHaveLength(2);
    expect(queue.known).toEqual(busy);
    // Many polls later; the one attempt is still on its way.
    jest.advanceTimersByTime(3 * POLL_MS);
    expect(caller.attempts).toHaveLength(2);
    expect(queue.known).toEqual({ kind: 'none' });
    await reply(caller, GRANT);
    expect(caller.outcomes).toEqual([granted]);
  });
});
