import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { answer, BUSY, Caller, GRANT } from '../../../../../test/support/caller.js';
import { fakeConnection } from '../../../../../test/support/fake-holds.js';
import type { Hold } from '../holding/hold.js';
import { LockContext } from '../lock-context.js';
import type { ChannelListener, Reply } from '../redis/connection.js';
import type { AcquireAnswer } from '../holding/protocol.js';
import type { Waiter } from './waiter.js';

const FOR_ALL = answer({ kind: 'granted', fencingToken: undefined, isForAll: true });
/** Longer than every poll of a spec, and than every lease. */
const LONG_MS = 60_000;

describe('a waiter whose answer never comes', () => {
  let context: LockContext;
  let listeners: ChannelListener[];

  beforeEach(() => {
    jest.useFakeTimers();
    listeners = [];
  });
  afterEach(() => {
    expect(context.keysInUse.size).toBe(0);
    jest.useRealTimers();
  });

  function open(isShared = false, pollIntervalMs = 500) {
    const listen = (_: string, listener: ChannelListener) => {
      listeners.push(listener);
      return () => undefined;
    };
    context = new LockContext(fakeConnection({ sendCount: 0, listen }), { pollIntervalMs });
    return context.queues(isShared ? 'latch' : 'lock', isShared);
  }
  const turn = () => jest.advanceTimersByTimeAsync(0);
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  const send = (sendCount: number) => Object.assign(context.connection, { sendCount });
  async function reply(caller: Caller, to: Reply<AcquireAnswer>): Promise<void> {
    caller.attempts.at(-1)?.(to);
    await turn();
  }
  /** It leaves, and each of its attempts is answered. */
  async function leave(caller: Caller): Promise<void> {
    caller.leave();
    for (const attempt of caller.attempts) attempt(BUSY);
    await turn();
  }

  it('asks again by the end of a grant that came too late for another caller', async () => {
    const queues = open(false, LONG_MS);
    const [first, second] = [new Caller(), new Caller()];
    for (const [i, caller] of [first, second].entries()) caller.owner = `p:${String(i)}`;
    Object.assign(first, { leaseTimeMs: 1_000 });
    first.enter(queues);
    second.enter(queues);
    await reply(first, BUSY);
    listeners[0]?.confirmed();
    await turn();
    await pass(1_100);
    await reply(first, GRANT);
    // Nothing notifies the second: the lease ended by itself.
    first.waiter?.use?.endLate('p:0');
    await pass(1_100);
    expect(second.attempts).toHaveLength(1);
    await leave(second);
  });

  it('asks again behind one that an older answer let go, while it asked', async () => {
    const queues = open(true);
    const [gone, asking, last] = [new Caller(), new Caller(), new Caller()];
    gone.enter(queues);
    asking.enter(queues);
    send(1);
    gone.leave();
    await pass(500);
    expect(asking.attempts).toHaveLength(1);
    send(2);
    last.enter(queues);
    await reply(gone, FOR_ALL);
    await pass(LONG_MS);
    expect(last.attempts).toHaveLength(1);
    await leave(asking);
    await leave(last);
  });

  it('asks again behind a single attempt that a hand-over refused, while it asked', async () => {
    const queues = open();
    const [named, once, last] = [new Caller(), new Caller(true), new Caller()];
    for (const [i, caller] of [named, once, last].entries()) {
      Object.assign(caller, { owner: `p:${String(i)}`, isHandedOver: true });
    }
    const countedKey = context.keysInUse.begin('a');
    const hold = { key: 'a', queueId: 'a', countedKey, batchCount: 0 } as unknown as Hold;
    for (const caller of [named, once, last]) caller.enter(queues);
    const next = queues.successor(hold) as Waiter;
    named.leave();
    await pass(500);
    expect(once.attempts).toHaveLength(1);
    queues.released(hold, next, { value: 'passed', sentAt: 0, resent: false });
    countedKey.end();
    await pass(LONG_MS);
    expect(last.attempts).toHaveLength(1);
    await leave(once);
    await leave(last);
  });

  it('leaves no use of its key, though its signal uses the key as it leaves', async () => {
    const queues = open();
    const [first, second] = [new Caller(), new Caller(true)];
    first.owner = 'p:1';
    const { signal } = first.abort;
    const enter = () => {
      second.enter(queues);
    };
    jest.spyOn(signal, 'removeEventListener').mockImplementation(enter);
    first.enter(queues);
    first.leave();
    await reply(first, BUSY);
    await reply(second, BUSY);
    expect(second.outcomes).toHaveLength(1);
  });
});
