import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fakeConnection, fakeHold } from '../../../../../test/support/fake-holds.js';
import { Session } from '../session.js';
import { systemClock } from '../time/clock.js';
import { LockBackendError, MovingSlotError } from '../api/errors.js';
import type { HoldProtocol, Renewal } from './protocol.js';
import type { Hold } from './hold.js';
import { HeldLease } from './held-lease.js';
import type { Holds } from './holds.js';
import type { LockEvent } from '../api/observer.js';
import type { Reply } from '../redis/connection.js';
import { Watchdog } from './watchdog.js';

const LEASE_MS = 30_000;
const INTERVAL_MS = LEASE_MS / 3;

interface Sent {
  readonly at: number;
  readonly keys: string[];
  readonly renewals: readonly Renewal[];
  readonly minReplicas: number;
  answer(held?: boolean): void;
  fail(error: Error): void;
}

/** The schedule of renewals, in virtual time; what Redis does with them is tested elsewhere. */
describe('Watchdog', () => {
  let sent: Sent[];
  let events: LockEvent[];
  let expired: [name: string, reason: string][];
  let onLost: (lost: Hold) => void;
  let onSuspect: (name: string) => void;
  let onRecovered: () => void;
  let onUp: () => void;
  /** Answers every renewal at once, unless a spec wants to do it itself. */
  let prompt: boolean;
  let session: Session;
  let watchdog: Watchdog;
  let movingUntil: number;
  let inFlight: Map<string, number>;
  let mostInFlight: number;

  const nodeOf = (key: string) => key.split(':')[0] ?? '';
  /** In a cluster each key that is said to be there has a slot of its own. */
  const slotOf = (key: string) => (nodeOf(key) === 'cluster' ? Number(key.split(':')[1]) : 0);
  const protocol = {
    kind: 'lock',
    renew: (renewals: readonly Renewal[], minReplicas: number) => {
      const node = nodeOf(renewals[0]?.key ?? '');
      const flying = (inFlight.get(node) ?? 0) + 1;
      inFlight.set(node, flying);
      mostInFlight = Math.max(mostInFlight, flying);
      const sentAt = systemClock.now();
      return new Promise<Reply<readonly boolean[]>>((resolve, reject) => {
        const done = () => inFlight.set(node, (inFlight.get(node) ?? 0) - 1);
        const one: Sent = {
          at: sentAt,
          keys: renewals.map(({ key }) => key),
          renewals,
          minReplicas,
          answer: (held = true) => {
            done();
            resolve({ value: renewals.map(() => held), sentAt, resent: false });
          },
          fail: (error) => {
            done();
            reject(error);
          },
        };
        sent.push(one);
        if (prompt) one.answer();
      });
    },
  } as unknown as HoldProtocol;

  /** A hold with one lease, as a grant leaves it. */
  const hold = (
    key: string,
    {
      watched = true,
      until = Infinity,
      leaseTimeMs = LEASE_MS,
      minReplicas = 0,
      own = LEASE_MS,
    } = {},
  ): Hold => {
    const made = fakeHold(key, session, protocol);
    made.begin();
    made.answered();
    made.confirm(systemClock.now(), leaseTimeMs);
    addLease(made, watched ? until : -Infinity, minReplicas, own);
    watchdog.add(made, systemClock.now());
    return made;
  };
  const addLease = (to: Hold, watchedUntil = Infinity, minReplicas = 0, own = LEASE_MS) => {
    const options = { minReplicas, watchdogLeaseMs: watchedUntil === -Infinity ? 0 : own };
    const keeper = { holds: {} as Holds, release: () => Promise.resolve() };
    to.add(new HeldLease(to, 1, undefined, undefined, watchedUntil, options, keeper));
    return to.leases.at(-1) as HeldLease;
  };
  const keysOf = (batches: Sent[]) => batches.flatMap(({ keys }) => keys);
  const advance = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  beforeEach(() => {
    jest.useFakeTimers();
    sent = [];
    events = [];
    expired = [];
    onLost = () => undefined;
    onSuspect = () => undefined;
    onRecovered = () => undefined;
    inFlight = new Map();
    mostInFlight = 0;
    prompt = true;
    movingUntil = 0;
    const connection = fakeConnection({
      place: (key: string) => ({ node: nodeOf(key), slot: slotOf(key) }),
      isMoving: () => systemClock.now() < movingUntil,
      onUp: (listener: () => void) => {
        onUp = listener;
        return () => (onUp = () => undefined);
      },
    });
    const observer = {
      observe: (event: LockEvent) => {
        events.push(event);
        if (event.type === 'suspect') onSuspect(event.name);
        if (event.type === 'recovered') onRecovered();
      },
    };
    session = new Session(connection, { watchdogLeaseMs: LEASE_MS, observer });
    watchdog = new Watchdog(session, (lost, reason) => {
      expired.push([lost.name, reason]);
      watchdog.remove(lost);
      onLost(lost);
    });
  });
  afterEach(() => {
    watchdog.close();
    expect(session.times.items()).toEqual([]);
    jest.runOnlyPendingTimers();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  it('renews each hold at every third of its lease, the first time a little sooner', async () => {
    hold('n:a');
    await advance(INTERVAL_MS * 0.5 - INTERVAL_MS / 40);
    expect(sent).toEqual([]);
    await advance(INTERVAL_MS);
    expect(sent).toHaveLength(1);
    await advance(INTERVAL_MS * 10);
    expect(sent.length).toBeGreaterThanOrEqual(10);
    expect(sent.length).toBeLessThanOrEqual(12);
    const gaps = sent.slice(1).map(({ at }, i) => at - (sent[i]?.at ?? 0));
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(INTERVAL_MS * (1 - 1 / 20));
    for (const { renewals } of sent) expect(renewals[0]?.renewMs).toBe(LEASE_MS);
  });

  it('renews 10,000 holds by one timer, in batches of at most 250, spread over the interval', async () => {
    for (let i = 0; i < 10_000; i += 1) hold(`n:${i}`);
    expect(jest.getTimerCount()).toBe(1);
    await advance(INTERVAL_MS);
    expect(new Set(keysOf(sent)).size).toBe(10_000);
    expect(keysOf(sent)).toHaveLength(10_000);
    expect(Math.max(...sent.map(({ keys }) => keys.length))).toBeLessThanOrEqual(250);
    expect(sent.length).toBeLessThan(10_000 / 250 + 25);
    const times = new Set(sent.map(({ at }) => at));
    expect(times.size).toBeGreaterThanOrEqual(15);
    expect(mostInFlight).toBe(1);
  });

  it('has one renewal on its way for each node, however many wait', async () => {
    prompt = false;
    for (let i = 0; i < 600; i += 1) hold(`n:${i}`);
    await advance(INTERVAL_MS);
    expect(sent).toHaveLength(1);
    sent[0]?.answer();
    await advance(0);
    expect(sent).toHaveLength(2);
    expect(mostInFlight).toBe(1);
  });

  it('goes on behind a whole batch of those that ended meanwhile', async () => {
    prompt = false;
    const holds = Array.from({ length: 600 }, (_, i) => hold(`n:${i}`));
    await advance(INTERVAL_MS);
    const sentFirst = new Set(keysOf(sent));
    const waiting = holds.filter(({ key }) => !sentFirst.has(key));
    const last = waiting.pop();
    for (const one of waiting) watchdog.remove(one);
    prompt = true;
    sent[0]?.answer();
    await advance(LEASE_MS);
    expect(keysOf(sent)).toContain(last?.key);
    expect(last?.state).toBe('held');
  });

  it('forgets a hold that its caller releases when it hears that it is suspect', async () => {
    prompt = false;
    const [first, second] = [hold('n:a'), hold('n:b')];
    onSuspect = (name) => {
      const one = name === 'n:a' ? first : second;
      watchdog.remove(one);
      one.end();
    };
    await advance(LEASE_MS * 2);
    expect(watchdog.size).toBe(0);
    expect(expired).toEqual([]);
  });

  it('lets no node that stands still delay the others', async () => {
    prompt = false;
    for (let i = 0; i < 20; i += 1) hold(`sick:${i}`);
    const sound = hold('sound:a');
    for (let step = 0; step < 40; step += 1) {
      await advance(INTERVAL_MS / 10);
      for (const one of sent) if (nodeOf(one.keys[0] ?? '') === 'sound') one.answer();
    }
    expect(sound.state).toBe('held');
    expect(sound.remainingMs).toBeGreaterThan(LEASE_MS / 2);
    expect(sent.filter(({ keys }) => nodeOf(keys[0] ?? '') === 'sick')).toHaveLength(1);
    expect(expired).toHaveLength(20);
  });

  it('lets no connection for replicas that stands still delay the plain one', async () => {
    prompt = false;
    const [plain, replicated] = [hold('n:plain'), hold('n:replicated', { minReplicas: 1 })];
    for (let step = 0; step < 40; step += 1) {
      await advance(INTERVAL_MS / 10);
      for (const one of sent) if (one.minReplicas === 0) one.answer();
    }
    expect([plain.state, replicated.remainingMs]).toEqual(['held', 0]);
    expect(plain.remainingMs).toBeGreaterThan(LEASE_MS / 2);
  });

  it('lets no slot whose renewal stands still delay the others of its node', async () => {
    prompt = false;
    const [still, sound] = [hold('cluster:7'), hold('cluster:8')];
    for (let step = 0; step < 40; step += 1) {
      await advance(INTERVAL_MS / 10);
      for (const one of sent) if (one.keys.includes('cluster:8')) one.answer();
    }
    expect([sound.state, still.remainingMs]).toEqual(['held', 0]);
  });

  it('asks for as many replicas as the leases that are held, and not those that were', async () => {
    const held = hold('n:a');
    const nested = addLease(held, Infinity, 2);
    await advance(INTERVAL_MS);
    held.drop(nested);
    await advance(INTERVAL_MS);
    expect(sent.map(({ minReplicas }) => minReplicas)).toEqual([2, 0]);
  });

  describe('when a batch is refused', () => {
    const REFUSED = new LockBackendError('no right', { retryable: false, outcome: 'none' });
    const refuseWith = (error: Error, isRefused: (keys: string[]) => boolean) => {
      prompt = false;
      const renew = protocol.renew.bind(protocol);
      const batches: string[][] = [];
      jest.spyOn(protocol, 'renew').mockImplementation((renewals, minReplicas) => {
        const asking = renew(renewals, minReplicas);
        const one = sent.at(-1);
        batches.push(one?.keys ?? []);
        if (isRefused(one?.keys ?? [])) one?.fail(error);
        else one?.answer();
        return asking;
      });
      return batches;
    };
    const renewed = async (count: number) => {
      const holds = Array.from({ length: count }, (_, i) => hold(`n:${i}`));
      for (const one of holds) watchdog.renewSoon(one);
      await advance(1);
      return holds;
    };
    afterEach(() => {
      jest.restoreAllMocks();
    });

    it('for the sake of one key, the others are renewed', async () => {
      const batches = refuseWith(REFUSED, (keys) => keys.includes('n:101'));
      const holds = await renewed(250);
      const doubtful = holds.filter(({ state }) => state === 'suspect');
      expect(doubtful.map(({ key }) => key)).toEqual(['n:101']);
      expect(doubtful[0]?.failed?.cause).toBe(REFUSED);
      expect(batches.length).toBeLessThanOrEqual(17);
      const told = events.filter(({ type }) => type === 'renewal-failed');
      expect(told).toMatchObject([{ leases: 1, error: REFUSED }]);
    });

    it('since its slot is on its way, each key is asked for alone', async () => {
      const moving = new MovingSlotError('moving', { retryable: true, outcome: 'none' });
      const batches = refuseWith(moving, (keys) => keys.length > 1);
      const holds = await renewed(100);
      movingUntil = Infinity;
      for (const one of holds) watchdog.renewSoon(one);
      await advance(1);
      expect(new Set(holds.map(({ state }) => state))).toEqual(new Set(['held']));
      // Only the first time are they asked for together.
      const sizes = batches.map(({ length }) => length);
      expect(sizes).toEqual([100, ...Array.from({ length: 200 }, () => 1)]);
      expect(events.filter(({ type }) => type === 'renewal-failed')).toEqual([]);
      movingUntil = 0;
      for (const one of holds) watchdog.renewSoon(one);
      await advance(1);
      expect(batches.at(201)).toHaveLength(100);
    });

    it.each([
      ['for the moment', new LockBackendError('no', { retryable: true, outcome: 'none' })],
      ['when it has run', new LockBackendError('no', { retryable: false, outcome: 'unknown' })],
    ])('%s, none is asked for again at once', async (_, error) => {
      const batches = refuseWith(error, () => true);
      await renewed(10);
      expect(batches).toHaveLength(1);
      expect(events.filter(({ type }) => type === 'renewal-failed')).toMatchObject([
        { leases: 10, error },
      ]);
    });
  });

  it('renews a hold in its turn, also while there is always another step of its owner', async () => {
    const busy = hold('n:busy');
    let isOver = false;
    const keepBusy = async (): Promise<void> => {
      if (isOver) return;
      await busy.serially(() => new Promise((resolve) => setTimeout(resolve, 10)));
      await keepBusy();
    };
    void keepBusy();
    void keepBusy();
    for (let step = 0; step < 40; step += 1) {
      await advance(INTERVAL_MS / 10);
      expect(busy.remainingMs).toBeGreaterThan(LEASE_MS / 2);
    }
    isOver = true;
    await advance(100);
    expect(events.filter(({ type }) => type !== 'renewed')).toEqual([]);
  });

  it('renews nothing that is released or lost', async () => {
    watchdog.remove(hold('n:released'));
    await advance(INTERVAL_MS * 1.5);
    expect(sent).toEqual([]);
  });

  it('renews a hold beside a step of its owner, and the next step waits for the answer', async () => {
    prompt = false;
    const busy = hold('n:busy');
    busy.begin();
    await advance(INTERVAL_MS * 1.5);
    expect(keysOf(sent)).toEqual(['n:busy']);
    const next = jest.fn(() => Promise.resolve());
    void busy.serially(next);
    busy.answered();
    await advance(20);
    expect(next).not.toHaveBeenCalled();
    sent[0]?.answer();
    await advance(20);
    expect(next).toHaveBeenCalledTimes(1);
  });

  it('never asks for less than Redis has promised already', async () => {
    hold('n:long', { leaseTimeMs: LEASE_MS * 4 });
    await advance(INTERVAL_MS);
    expect(sent[0]?.renewals[0]?.renewMs).toBeGreaterThan(LEASE_MS * 3);
  });

  it('renews each hold after a third of its own lease', async () => {
    hold('n:short', { own: LEASE_MS / 10, leaseTimeMs: LEASE_MS / 10 });
    hold('n:usual');
    await advance(INTERVAL_MS);
    // Both may be due at once, and share a script.
    const short = sent.flatMap(({ renewals }) => renewals).filter(({ key }) => key === 'n:short');
    expect(short.length).toBeGreaterThanOrEqual(9);
    expect(short.length).toBeLessThanOrEqual(12);
    expect(new Set(short.map(({ renewMs }) => renewMs))).toEqual(new Set([LEASE_MS / 10]));
    expect(sent.filter(({ keys }) => keys.includes('n:usual'))).toHaveLength(1);
  });

  it('does not renew a hold of which no lease asked for it, and tells when it is over', async () => {
    const fixed = hold('n:fixed', { watched: false });
    const limited = hold('n:limited', { until: systemClock.now() + INTERVAL_MS * 2 });
    await advance(LEASE_MS);
    expect(keysOf(sent)).not.toContain('n:fixed');
    expect(expired).toEqual([['n:fixed', 'expired']]);
    await advance(LEASE_MS);
    expect(expired).toEqual([
      ['n:fixed', 'expired'],
      ['n:limited', 'expired'],
    ]);
    expect(keysOf(sent).length).toBeLessThanOrEqual(3);
    expect([fixed.remainingMs, limited.remainingMs]).toEqual([0, 0]);
  });

  it('makes a hold suspect at once when its renewal fails, tries again soon, and recovers', async () => {
    prompt = false;
    const held = hold('n:a');
    await advance(INTERVAL_MS);
    const error = new LockBackendError('no', { retryable: true, outcome: 'none' });
    sent[0]?.fail(error);
    await advance(0);
    expect(held.state).toBe('suspect');
    expect(held.failed?.cause).toBe(error);
    expect(sent).toHaveLength(1);
    await advance(INTERVAL_MS / 4);
    expect(sent).toHaveLength(2);
    sent[1]?.answer();
    await advance(0);
    expect(held.state).toBe('held');
    expect(events.map(({ type }) => type)).toEqual([
      'renewal-failed',
      'suspect',
      'renewed',
      'recovered',
    ]);
  });

  it('guards no hold that an observer releases as it recovers', async () => {
    prompt = false;
    const held = hold('n:a');
    await advance(INTERVAL_MS);
    sent[0]?.fail(new LockBackendError('no', { retryable: true, outcome: 'none' }));
    await advance(INTERVAL_MS / 4);
    onRecovered = () => {
      watchdog.remove(held);
    };
    sent[1]?.answer();
    await advance(0);
    expect(events.at(-1)).toMatchObject({ type: 'recovered' });
    expect(session.times.items()).toEqual([]);
  });

  it('tries again as soon as the connection is back, where there is doubt', async () => {
    prompt = false;
    const [doubtful, sound] = [hold('n:doubtful'), hold('m:sound')];
    for (let step = 0; step < 20 && doubtful.state === 'held'; step += 1) {
      await advance(INTERVAL_MS / 10);
      for (const one of sent) {
        if (one.keys.includes('m:sound')) one.answer();
        else one.fail(new LockBackendError('no', { retryable: true, outcome: 'none' }));
      }
      await advance(0);
    }
    expect([doubtful.state, sound.state]).toEqual(['suspect', 'held']);
    const before = sent.length;
    onUp();
    await advance(0);
    expect(keysOf(sent.slice(before))).toEqual(['n:doubtful']);
  });

  it('makes a hold suspect when a renewal stays unanswered, and over at its local deadline', async () => {
    prompt = false;
    const held = hold('n:a');
    const { validUntil } = held;
    await advance(LEASE_MS * (2 / 3) - 310);
    expect(held.state).toBe('held');
    await advance(20);
    expect(held.state).toBe('suspect');
    expect(sent).toHaveLength(1);
    await advance(validUntil - systemClock.now() - 1);
    expect(expired).toEqual([]);
    await advance(2);
    expect(expired).toEqual([['n:a', 'expired']]);
    sent[0]?.answer();
    await advance(LEASE_MS);
    expect(sent).toHaveLength(1);
  });

  it('says nothing of a hold that ended because another one was lost in the same moment', async () => {
    const both = [hold('n:a', { watched: false }), hold('n:b', { watched: false })];
    // As a holder does that releases the other lock when its signal aborts.
    onLost = (lost) => {
      for (const other of both) if (other !== lost) watchdog.remove(other);
    };
    await advance(2 * LEASE_MS);
    expect(expired).toHaveLength(1);
  });

  it('renews again at once what was asked before the machine stood still and answered after', async () => {
    prompt = false;
    const held = hold('n:a');
    await advance(INTERVAL_MS);
    // The wall clock alone goes on.
    jest.setSystemTime(Date.now() + 60_000);
    expect(held.state).toBe('suspect');
    watchdog.renewSoon(held);
    await advance(0);
    expect(sent).toHaveLength(1);
    sent[0]?.answer();
    await advance(1);
    expect(held.state).toBe('suspect');
    expect(sent).toHaveLength(2);
    sent[1]?.answer();
    await advance(INTERVAL_MS / 2);
    expect(held.state).toBe('held');
    expect(sent).toHaveLength(2);
  });

  it('tells that a hold is sure again when it is, and not while the machine may have stood still', async () => {
    prompt = false;
    const held = hold('n:a');
    await advance(2 * INTERVAL_MS);
    expect(events.map(({ type }) => type)).toEqual(['suspect']);
    jest.setSystemTime(Date.now() + 60_000);
    sent[0]?.answer();
    await advance(1);
    expect(held.state).toBe('suspect');
    sent[1]?.answer();
    await advance(1);
    expect(held.state).toBe('held');
    expect(events.map(({ type }) => type)).toEqual(['suspect', 'renewed', 'renewed', 'recovered']);
  });

  it('counts a renewal from the moment at which it was sent', async () => {
    prompt = false;
    const held = hold('n:a');
    await advance(INTERVAL_MS);
    const sentAt = sent[0]?.at ?? NaN;
    await advance(3_000);
    sent[0]?.answer();
    await advance(0);
    expect(held.validUntil).toBe(sentAt + LEASE_MS - LEASE_MS * 0.01 - 2);
  });

  it('tells that a hold is gone as soon as Redis says so', async () => {
    prompt = false;
    hold('n:a');
    await advance(INTERVAL_MS);
    sent[0]?.answer(false);
    await advance(0);
    expect(expired).toEqual([['n:a', 'gone']]);
  });

  it('takes a hold for gone that an answer leaves out', async () => {
    prompt = false;
    const renew = jest.spyOn(protocol, 'renew').mockImplementation(async () => ({
      ...{ value: [], sentAt: systemClock.now(), resent: false },
    }));
    hold('n:a');
    await advance(INTERVAL_MS);
    expect(expired).toEqual([['n:a', 'gone']]);
    renew.mockRestore();
  });

  it('doubts the one hold of which an answer knows nothing, and renews it sooner', async () => {
    const unsure = new LockBackendError('unknown', { retryable: true, outcome: 'unknown' });
    prompt = false;
    const [sure, doubtful] = [hold('n:a'), hold('n:b')];
    const renew = jest.spyOn(protocol, 'renew').mockImplementationOnce(async (renewals) => ({
      value: renewals.map(({ key }) => (key === 'n:a' ? true : unsure)),
      ...{ sentAt: systemClock.now(), resent: false },
    }));
    for (const one of [sure, doubtful]) watchdog.renewSoon(one);
    await advance(1);
    expect([sure.state, doubtful.state]).toEqual(['held', 'suspect']);
    expect(doubtful.failed?.cause).toBe(unsure);
    await advance(INTERVAL_MS / 4);
    expect(sent.map(({ keys }) => keys)).toEqual([['n:b']]);
    renew.mockRestore();
  });
});
