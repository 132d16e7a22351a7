import { describe, expect, it } from '@jest/globals';
import { LockStateError, SemaphoreService } from 'nestjs-redis-lock/core';
import { NO_LEASE, permitChannelOf, timeoutOf } from '../support/redisson-permits.js';
import { PROMPT_MS, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { useGolden, type Replay } from '../support/wire/golden.js';
import type { WireKeys } from '../support/wire/wire-state.js';

const CHANNEL = permitChannelOf('a');

const redis = useRealRedis();
const golden = useGolden(redis, 'expirable-semaphore', { ours: /^nestjs_semaphore_/ });
const open = useLocks(redis, (context) => new SemaphoreService(context));
const NO_POLL = { pollIntervalMs: 60_000, waitTimeMs: 60_000 };
const semaphoreOf = () => open(NO_POLL).locks.get('a');
const listening = () => redis.listening(CHANNEL);

const doing = (what: string) => `permitExpirableSemaphore.${what}`;
const a = (what: string) => `A: ${doing(what)}`;
const b = (what: string) => `B: ${doing(what)}`;

/** A permit that never ends in Java has a lease with us, which the watchdog renews. */
const keys = (redissons: WireKeys): WireKeys =>
  JSON.parse(JSON.stringify(redissons).replaceAll(NO_LEASE, 'now + 30000')) as WireKeys;
const heard = (...payloads: string[]) => payloads.map((payload) => [CHANNEL, payload] as const);

/** The lease of this permit of ours is over. */
const lapse = (trace: Replay, permit: string) => {
  const id = Buffer.from(trace.aliases.reveal(permit), 'hex');
  return redis.admin.zadd(timeoutOf('a'), 'XX', Date.now() - 1_000, id);
};

describe('what the semaphore leaves in Redis is what RPermitExpirableSemaphore leaves there', () => {
  it('when they are set, acquired and released, but none of ours is without a lease', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('set, acquired, released');
    expect(await trace.plays(a('tryAcquire()'), semaphore.tryAcquire())).toBeNull();
    expect(await trace.plays(a('trySetPermits(3)'), semaphore.trySetPermits(3))).toBe(true);
    expect(await trace.plays(a('trySetPermits(5)'), semaphore.trySetPermits(5))).toBe(false);
    const first = await trace.plays(a('acquire()'), semaphore.acquire(), { keys });
    const second = await trace.plays(
      a('acquire(60000)'),
      semaphore.acquire({ leaseTimeMs: 60_000 }),
      { keys },
    );
    expect(await semaphore.availablePermits()).toBe(1);
    expect(await semaphore.updateLeaseTime(second.permitIds[0] ?? '', 20_000)).toBe(true);
    await trace.sees(a('updateLeaseTime(<permit 2>, 20000)'), { keys });
    const other = semaphoreOf();
    await trace.plays(b('release(<permit 1>)'), other.release(first.permitIds));
    expect(await trace.plays(b('tryRelease(<permit 1>)'), other.tryRelease(first.permitIds))).toBe(
      false,
    );
    expect(await trace.plays(b('tryRelease(<permit 2>)'), other.tryRelease(second.permitIds))).toBe(
      true,
    );
  });

  it('when leases end, but ours takes permits back only for the next one, and tells of none that it takes', async () => {
    const [semaphore, other] = [semaphoreOf(), semaphoreOf()];
    const trace = await golden.scenario('ended by their lease');
    await trace.plays(a('trySetPermits(2)'), semaphore.trySetPermits(2));
    const first = await trace.plays(
      a('acquire(20000)'),
      semaphore.acquire({ leaseTimeMs: 20_000 }),
    );
    const second = await trace.plays(
      a('acquire(20000)'),
      semaphore.acquire({ leaseTimeMs: 20_000 }),
    );
    await trace.plays('time ends <permit 1> of {a}:timeout', lapse(trace, '<permit 1>'));
    await trace.plays(
      b('tryAcquire(0, 60000)'),
      other.acquire({ waitTimeMs: 0, leaseTimeMs: 60_000 }),
      { messages: [] },
    );
    expect(
      await trace.plays(a('tryRelease(<permit 1>)'), semaphore.tryRelease(first.permitIds)),
    ).toBe(false);
    await trace.plays('time ends <permit 2> of {a}:timeout', lapse(trace, '<permit 2>'));
    expect(await semaphore.tryRelease(second.permitIds)).toBe(false);
    const lapsed = (zset: Record<string, string>) => ({
      keys: { a: { string: '0', ttl: -1 }, '{a}:timeout': { zset, ttl: -1 } },
      messages: [],
    });
    await trace.sees(
      a('tryRelease(<permit 2>)'),
      lapsed({ '<permit 2>': 'past', '<permit 3>': 'now + 60000' }),
    );
    await lapse(trace, '<permit 3>');
    const bothLapsed = lapsed({ '<permit 2>': 'past', '<permit 3>': 'past' });
    await trace.sees('time ends <permit 3> of {a}:timeout', bothLapsed);
    expect(await semaphore.availablePermits()).toBe(2);
    await trace.sees(a('availablePermits()'), bothLapsed);
  });

  it('when they are waited for', async () => {
    const [semaphore, other] = [semaphoreOf(), semaphoreOf()];
    const trace = await golden.scenario('waited for');
    await trace.plays(a('trySetPermits(1)'), semaphore.trySetPermits(1));
    const held = await trace.plays(a('acquire()'), semaphore.acquire(), { keys });
    const waiting = other.acquire();
    await listening();
    await trace.sees(b('acquire() waits'), { keys });
    await held.release();
    trace.passes(a('release(<permit 1>)'));
    const lease = await trace.plays(b('acquire() goes on'), waiting, { keys });
    await trace.plays(b('release(<permit 2>)'), lease.release());
  });

  it('when there are more permits, of which ours tells how many are free', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('more permits');
    await trace.plays(a('addPermits(2)'), semaphore.addPermits(2));
    await trace.plays(a('acquire()'), semaphore.acquire(), { keys });
    await trace.plays(a('addPermits(3)'), semaphore.addPermits(3), { keys, messages: heard('4') });
    await trace.plays(a('addPermits(-1)'), semaphore.addPermits(-1), { keys });
  });

  it('when their number is set while some are held, but ours tells of free ones only', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('another capacity, while some are held');
    await trace.plays(a('setPermits(3)'), semaphore.setPermits(3));
    const first = await trace.plays(a('acquire()'), semaphore.acquire(), { keys });
    const second = await trace.plays(a('acquire()'), semaphore.acquire(), { keys });
    await trace.plays(a('setPermits(5)'), semaphore.setPermits(5), { keys, messages: heard('3') });
    expect(await semaphore.permits()).toBe(5);
    expect(await semaphore.acquiredPermits()).toBe(2);
    await trace.plays(a('setPermits(1)'), semaphore.setPermits(1), { keys, messages: [] });
    expect(await semaphore.availablePermits()).toBe(-1);
    await trace.plays(a('tryRelease(<permit 1>)'), first.release(), { keys, messages: [] });
    await trace.plays(a('tryRelease(<permit 2>)'), second.release());
  });

  it('when they are acquired several at once, of whose release ours tells how many are free', async () => {
    const [semaphore, other] = [semaphoreOf(), semaphoreOf()];
    const trace = await golden.scenario('several at once');
    await trace.plays(a('trySetPermits(3)'), semaphore.trySetPermits(3));
    const two = await trace.plays(a('acquire(2)'), semaphore.acquire({ permits: 2 }), { keys });
    const [one = ''] = two.permitIds;
    expect(await other.tryAcquire({ permits: 2 })).toBeNull();
    await trace.sees(b('tryAcquire(2)'), { keys });
    const last = await trace.plays(b('acquire(1, 60000)'), other.acquire({ leaseTimeMs: 60_000 }), {
      keys,
    });
    const unknown = '0'.repeat(32);
    expect(await semaphore.tryRelease([one, unknown])).toBe(false);
    await trace.sees(a(`tryRelease([<permit 1>, ${unknown}])`), { keys });
    expect(await semaphore.tryRelease(two.permitIds)).toBe(true);
    await trace.sees(a('tryRelease([<permit 1>, <permit 2>])'));
    expect(await semaphore.remainingTimeMs(one)).toBe(0);
    expect(await other.tryRelease(last.permitIds)).toBe(true);
    await trace.sees(b('tryRelease([<permit 3>])'), { messages: heard('3') });
  });
});

describe('what RPermitExpirableSemaphore leaves in Redis is understood by the semaphore', () => {
  it('when they are set, acquired and released', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('set, acquired, released');
    await trace.put(a('trySetPermits(3)'));
    expect(await semaphore.trySetPermits(5)).toBe(false);
    expect(await semaphore.permits()).toBe(3);
    await trace.put(a('acquire()'));
    const [first, second] = ['<permit 1>', '<permit 2>'].map((id) => trace.aliases.reveal(id));
    expect(await semaphore.remainingTimeMs(first ?? '')).toBe(Infinity);
    await trace.put(a('acquire(60000)'));
    expect(await semaphore.availablePermits()).toBe(1);
    expect(await semaphore.tryAcquire({ permits: 2 })).toBeNull();
    expect(await semaphore.updateLeaseTime(second ?? '', 20_000)).toBe(true);
    await trace.sees(a('updateLeaseTime(<permit 2>, 20000)'));
    await trace.plays(b('release(<permit 1>)'), semaphore.release(first ?? ''));
    await expect(semaphore.release(first ?? '')).rejects.toThrow(LockStateError);
    await trace.sees(b('tryRelease(<permit 1>)'));
    expect(await semaphore.tryRelease(second ?? '')).toBe(true);
    await trace.sees(b('tryRelease(<permit 2>)'));
  });

  it('when leases end', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('ended by their lease');
    await trace.put(a('trySetPermits(2)'));
    await trace.put(a('acquire(20000)'));
    await trace.put(a('acquire(20000)'));
    expect(await semaphore.tryAcquire()).toBeNull();
    await trace.put('time ends <permit 1> of {a}:timeout');
    expect(await semaphore.availablePermits()).toBe(1);
    const { permitIds } = await semaphore.acquire({ waitTimeMs: 0, leaseTimeMs: 60_000 });
    trace.aliases.set('permit 3', permitIds[0] ?? '');
    await trace.sees(b('tryAcquire(0, 60000)'), { messages: [] });
    await trace.put('time ends <permit 2> of {a}:timeout');
    await trace.put(a('tryRelease(<permit 2>)'));
    expect(await semaphore.availablePermits()).toBe(1);
    await trace.put('time ends <permit 3> of {a}:timeout');
    expect(await semaphore.availablePermits()).toBe(2);
    await trace.put(a('availablePermits()'));
    expect(await semaphore.availablePermits()).toBe(2);
  });

  it('when they are waited for', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('waited for');
    await trace.put(a('trySetPermits(1)'));
    await trace.put(a('acquire()'));
    const inVain = semaphore.acquire({ waitTimeMs: 0 });
    await expect(inVain).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', retryAfterMs: Infinity });
    const waiting = semaphore.acquire();
    await listening();
    const sinceRelease = new Stopwatch();
    await trace.put(a('release(<permit 1>)'));
    const lease = await waiting;
    expect(sinceRelease.ms).toBeLessThan(PROMPT_MS);
    trace.aliases.set('permit 2', lease.permitIds[0] ?? '');
    await trace.sees(b('acquire() goes on'), { keys });
    await trace.plays(b('release(<permit 2>)'), lease.release());
  });

  it('when there are more permits', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('more permits');
    await trace.put(a('addPermits(2)'));
    await expect(semaphore.acquire({ permits: 3 })).rejects.toThrow(LockStateError);
    await trace.put(a('acquire()'));
    await trace.put(a('addPermits(3)'));
    expect(await semaphore.availablePermits()).toBe(4);
    await trace.put(a('addPermits(-1)'));
    expect(await semaphore.permits()).toBe(4);
  });

  it('when their number is set while some are held', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('another capacity, while some are held');
    for (const step of ['setPermits(3)', 'acquire()', 'acquire()']) await trace.put(a(step));
    await trace.put(a('setPermits(5)'));
    expect(await semaphore.permits()).toBe(5);
    expect(await semaphore.acquiredPermits()).toBe(2);
    await trace.put(a('setPermits(1)'));
    expect(await semaphore.availablePermits()).toBe(-1);
    expect(await semaphore.tryAcquire()).toBeNull();
    await trace.put(a('tryRelease(<permit 1>)'));
    expect(await semaphore.tryRelease(trace.aliases.reveal('<permit 2>'))).toBe(true);
    await trace.sees(a('tryRelease(<permit 2>)'));
  });

  it('when they are acquired several at once', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('several at once');
    await trace.put(a('trySetPermits(3)'));
    await trace.put(a('acquire(2)'));
    expect(await semaphore.tryAcquire({ permits: 2 })).toBeNull();
    await trace.put(b('acquire(1, 60000)'));
    const [one = '', two = '', three = ''] = [1, 2, 3].map((n) =>
      trace.aliases.reveal(`<permit ${n}>`),
    );
    const unknown = '0'.repeat(32);
    expect(await semaphore.tryRelease([one, unknown])).toBe(false);
    await trace.sees(a(`tryRelease([<permit 1>, ${unknown}])`));
    expect(await semaphore.tryRelease([one, two])).toBe(true);
    await trace.sees(a('tryRelease([<permit 1>, <permit 2>])'));
    expect(await semaphore.tryRelease(three.toUpperCase())).toBe(true);
    await trace.sees(b('tryRelease([<permit 3>])'), { messages: heard('3') });
  });
});

it.each([
  ['{shop}:stock', '', '{shop}:stock', '{shop}:stock:timeout', 'redisson_sc:{shop}:stock'],
  ['stock:{shop}', '', 'stock:{shop}', 'stock:{shop}:timeout', 'redisson_sc:stock:{shop}'],
  ['商品 1', '', '商品 1', '{商品 1}:timeout', 'redisson_sc:{商品 1}'],
  ['a', 'shop:', 'shop:a', '{shop:a}:timeout', 'redisson_sc:{shop:a}'],
])('%p with keyPrefix %p has the keys and the channel of Redisson', async (...row) => {
  const [name, keyPrefix, key, leases, channel] = row;
  const semaphore = open({ ...NO_POLL, keyPrefix }).locks.get(name, { capacity: 1 });
  const lease = await semaphore.acquire();
  expect(await redis.admin.get(key)).toBe('0');
  expect(await redis.admin.zcard(leases)).toBe(1);
  const waiting = semaphore.acquire();
  await redis.listening(channel);
  await lease.release();
  await (await waiting).release();
});
