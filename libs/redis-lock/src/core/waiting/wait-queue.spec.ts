import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { answer, BUSY, Caller, GRANT, LEFT } from '../../../../../test/support/caller.js';
import { fakeConnection } from '../../../../../test/support/fake-holds.js';
import { LockShutdownError } from '../api/errors.js';
import type { LockEvent } from '../api/observer.js';
import { LockContext } from '../lock-context.js';
import type { WaitQueues } from './wait-queues.js';
import type { WaitQueue } from './wait-queue.js';
import { GRANTED, Waiter } from './waiter.js';

const POLL_MS = 500;
const busy = { remainingMs: expect.any(Number) as unknown, blockedBy: 'other' };
const known = { kind: 'busy', until: expect.any(Number) as unknown };

describe('WaitQueue', () => {
  let context: LockContext;
  let late: LockEvent[];
  let listened: string[];
  let abort: AbortController;

  beforeEach(() => {
    jest.useFakeTimers();
    late = [];
  });
  afterEach(() => {
    expect(context.waiting).toBe(0);
    expect(context.times.items()).toEqual([]);
    jest.runOnlyPendingTimers();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  function open(wakeUp: 'message' | 'poll' = 'message', isShared = false): WaitQueues {
    const observe = (event: LockEvent) => {
      if (event.type === 'late-grant') late.push(event);
    };
    const settings = { pollIntervalMs: POLL_MS, wakeUp, observer: { observe } };
    listened = [];
    const listen = (channel: string) => {
      listened.push(channel);
      return () => undefined;
    };
    context = new LockContext(fakeConnection({ sendCount: 0, listen }), settings);
    return context.queues('lock', isShared);
  }

  /** The attempts are on their way from now on. */
  const send = () => Object.assign(context.connection, { sendCount: 1 });
  const turn = () => jest.advanceTimersByTimeAsync(0);

  /** The answer to the latest attempt of the caller arrives. */
  async function reply(caller: Caller | undefined, to = BUSY): Promise<void> {
    caller?.attempts.at(-1)?.(to);
    await turn();
  }

  it.each(['before', 'after'])(
    'goes on with a caller that came %s the one without an answer left',
    async (when) => {
      const queues = open();
      const [gone, next] = [new Caller(), new Caller()];
      gone.enter(queues);
      if (when === 'after') gone.leave();
      next.enter(queues);
      if (when === 'before') gone.leave();
      expect(next.attempts).toHaveLength(0);
      jest.advanceTimersByTime(POLL_MS);
      expect(next.attempts).toHaveLength(1);
      await reply(next, GRANT);
      expect(next.outcomes).toEqual([GRANTED]);

      await reply(gone, GRANT);
      expect(gone).toMatchObject({ cancelled: 1, outcomes: [LEFT] });
      expect(late).toHaveLength(1);
    },
  );

  describe('answers a caller that does not wait', () => {
    it.each(['has left', 'does not wait either'])(
      'by an attempt of its own, when the one ahead %s',
      async (how) => {
        const queues = open();
        const [ahead, last] = [new Caller(how !== 'has left'), new Caller(true)];
        ahead.enter(queues);
        send();
        if (how === 'has left') ahead.leave();
        last.enter(queues);
        // The lock may have been released after this was asked, and before the last one came.
        await reply(ahead);
        expect(last.outcomes).toEqual([]);
        await reply(last, GRANT);
        expect(last).toMatchObject({ outcomes: [GRANTED], cancelled: 0 });
      },
    );

    it.each(['nothing', 'that others have it'])(
      'not by an answer that a newer attempt has overtaken, when %s is known',
      async (what) => {
        const queues = open();
        const [gone, last] = [new Caller(), new Caller(true)];
        gone.enter(queues);
        send();
        if (what !== 'nothing') {
          await reply(gone);
          await jest.advanceTimersByTimeAsync(POLL_MS);
        }
        gone.leave();
        last.enter(queues);
        await jest.advanceTimersByTimeAsync(POLL_MS);
        expect(last.attempts).toHaveLength(1);
        await reply(gone);
        expect(last.outcomes).toEqual([]);
        await reply(last, GRANT);
        expect(last).toMatchObject({ outcomes: [GRANTED], cancelled: 0 });
      },
    );

    it('by the attempt that is not sent yet when it comes', async () => {
      const queues = open();
      const callers = [new Caller(true), new Caller(true), new Caller(true)];
      for (const caller of callers) caller.enter(queues);
      await reply(callers[0]);
      for (const { outcomes } of callers) expect(outcomes).toEqual([busy]);
      expect(callers.flatMap(({ attempts }) => attempts)).toHaveLength(1);
    });

    it('at once, when the lock is not free and others are ahead', async () => {
      const queues = open();
      const [ahead, last] = [new Caller(), new Caller(true)];
      ahead.enter(queues);
      await reply(ahead);
      last.enter(queues);
      await turn();
      expect(last).toMatchObject({ outcomes: [busy], attempts: [] });
      ahead.leave();
    });

    it('not by an old answer, when no waiter is ahead', async () => {
      const queues = open();
      const [first, ahead, last] = [new Caller(), new Caller(true), new Caller(true)];
      first.enter(queues);
      await reply(first);
      first.leave();
      ahead.enter(queues);
      send();
      // The lock may have been released since its attempt was answered by Redis.
      last.enter(queues);
      await turn();
      expect(last.outcomes).toEqual([]);
      await reply(ahead);
      await reply(last, GRANT);
      expect(last.outcomes).toEqual([GRANTED]);
    });

    it('when a caller of the same process gets the lock', async () => {
      const queues = open();
      const [ahead, last] = [new Caller(), new Caller(true)];
      ahead.enter(queues);
      await jest.advanceTimersByTimeAsync(1);
      last.enter(queues);
      await reply(ahead, GRANT);
      expect(ahead.outcomes).toEqual([GRANTED]);
      expect(last).toMatchObject({ outcomes: [busy], attempts: [] });
    });
  });

  describe('after a grant that keeps no other owner out', () => {
    it('refuses a waiter whose time is over before its answer comes', async () => {
      const queues = open('message', true);
      const [first, second] = [new Caller(), new Caller(false, 100)];
      first.enter(queues);
      second.enter(queues);
      await reply(first, GRANT);
      expect(second.attempts).toHaveLength(1);
      await jest.advanceTimersByTimeAsync(101);
      await turn();
      expect(second.outcomes).toEqual([{ ...busy, remainingMs: 0 }]);
      await reply(second);
    });

    it('refuses a single attempt by the next answer only', async () => {
      const queues = open('message', true);
      const [first, second, once] = [new Caller(), new Caller(), new Caller(true)];
      first.enter(queues);
      second.enter(queues);
      await reply(first, GRANT);
      once.enter(queues);
      await turn();
      expect(once.outcomes).toEqual([]);
      await reply(second);
      expect(once).toMatchObject({ outcomes: [busy], attempts: [] });
      second.leave();
    });
  });

  it.each([
    ['at once behind another process', BUSY, 0],
    ['after 50 ms behind a caller of its own process', GRANT, 50],
  ])('subscribes %s', async (_, to, afterMs) => {
    const queues = open();
    const [first, second] = [new Caller(), new Caller()];
    first.owner = 'first';
    first.enter(queues);
    second.enter(queues);
    await reply(first, to);
    if (afterMs > 0) {
      await jest.advanceTimersByTimeAsync(afterMs - 1);
      expect(listened).toEqual([]);
      await jest.advanceTimersByTimeAsync(1);
    }
    expect(listened).toEqual(['c']);
    first.leave();
    second.leave();
    first.waiter?.use?.end();
  });

  it('lets all waiters go on that were there when it asked, by a grant that holds for all', async () => {
    const FOR_ALL = answer({ kind: 'granted', fencingToken: undefined, isForAll: true });
    const queues = open();
    const [first, second, third, last] = Array.from({ length: 4 }, () => new Caller());
    first?.enter(queues);
    second?.enter(queues);
    third?.enter(queues);
    send();
    last?.enter(queues);
    // Also behind one that left.
    first?.leave();
    await reply(first, FOR_ALL);
    expect(first).toMatchObject({ outcomes: [LEFT], cancelled: 0 });
    for (const caller of [second, third]) {
      expect(caller).toMatchObject({ outcomes: [GRANTED], attempts: [] });
    }
    expect(last?.outcomes).toEqual([]);
    await reply(last, FOR_ALL);
    expect(last?.outcomes).toEqual([GRANTED]);
  });

  it.each([
    ['a fifth', 0, 0.8],
    ['nothing', 1, 1],
  ])(
    'pauses from 2 to 128 ms where there are no messages, less %s at random',
    async (_, dice, part) => {
      const chance = jest.spyOn(Math, 'random').mockReturnValue(dice);
      const queues = open('poll');
      const caller = new Caller();
      caller.enter(queues);
      for (const [asked, pauseMs] of [2, 4, 8, 16, 32, 64, 128, 128].entries()) {
        await reply(caller);
        const earliestMs = Math.floor(part * pauseMs) - 1;
        await jest.advanceTimersByTimeAsync(earliestMs);
        expect(caller.attempts).toHaveLength(asked + 1);
        await jest.advanceTimersByTimeAsync(Math.ceil(part * pauseMs) - earliestMs);
        expect(caller.attempts).toHaveLength(asked + 2);
      }
      caller.leave();
      chance.mockRestore();
    },
  );

  it('knows nothing while Redis does not answer, and what it has answered otherwise', async () => {
    const queues = open();
    const caller = new Caller();
    caller.enter(queues);
    const queue = caller.waiter?.queue as WaitQueue | undefined;
    await reply(caller);
    expect(queue).toMatchObject({ known });
    jest.advanceTimersByTime(POLL_MS);
    expect(caller.attempts).toHaveLength(2);
    expect(queue).toMatchObject({ known });
    // Many polls later; the one attempt is still on its way.
    jest.advanceTimersByTime(3 * POLL_MS);
    expect(caller.attempts).toHaveLength(2);
    expect(queue?.known).toEqual({ kind: 'none' });
    await reply(caller, GRANT);
    expect(caller.outcomes).toEqual([GRANTED]);
    expect(queue?.waiters.size).toBe(0);
  });

  it('is counted once when two kinds wait for one name', async () => {
    const queues = open();
    const [lock, latch] = [new Caller(), new Caller()];
    lock.enter(queues);
    latch.enter(context.queues('latch', true));
    expect(context.waiting).toBe(2);
    expect(context.waiting).toBe(2);
    for (const caller of [lock, latch]) {
      caller.leave();
      await reply(caller);
    }
  });

  it.each([
    [
      'shuts the application down',
      () => {
        context.refuse();
      },
      LockShutdownError,
    ],
    [
      'aborts',
      () => {
        abort.abort(LEFT);
      },
      LEFT,
    ],
  ])('has no waiter whose signal %s as it is listened to', async (_, act, error) => {
    const queues = open();
    abort = new AbortController();
    const add = abort.signal.addEventListener.bind(abort.signal);
    const listen = jest.spyOn(abort.signal, 'addEventListener');
    listen.mockImplementation((...args: Parameters<typeof add>) => {
      add(...args);
      act();
    });
    const subject = { name: 'a', kind: 'lock' } as const;
    const now = context.clock.now();
    const waiter = new Waiter(context, new Caller(), subject, Infinity, abort.signal, now);
    await expect(waiter.waitIn(queues)).rejects.toThrow(error);
    expect(context.times).toHaveProperty('waiting', 0);
  });
});
