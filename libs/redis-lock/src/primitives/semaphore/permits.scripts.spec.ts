import { describe, expect, it } from '@jest/globals';
import { deliver, deliveries } from '../../../../../test/support/deliver.js';
import { eventually } from '../../../../../test/support/eventually.js';
import { secondsUntil, serverNow } from '../../../../../test/support/moments.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import type { Script } from '../../core/redis/script.js';
import {
  ADD,
  LEASE_TIME,
  LOOK,
  RELEASE_PERMITS,
  RESTORE,
  SET,
  TRY_SET,
  UPDATE_LEASE,
} from './capacity.scripts.js';
import { SEMAPHORE_FOOTPRINT } from './footprint.js';
import { ACQUIRE, RELEASE, RENEW, CANCEL } from './permits.scripts.js';

const A = 'a0'.repeat(16);
const B = 'b1'.repeat(16);
const C = '0d0a00ff'.repeat(4);
const CHANNEL = 'redisson_sc:{k}';
const KEYS = ['k', '{k}:timeout'] as const;
const BAD_NUMBERS = [
  ...['NaN', '1.5', '-1', '1e3', '', ' 100', '0x10', 'inf', '9223372036854775807', '１００', '1\n'],
];

describe('the scripts of the semaphore', () => {
  const redis = useRedis();

  const run = <K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: Readonly<Record<A, string | number>> | readonly (string | number)[],
  ) => deliver(redis.admin, script, keys, args);
  const enter = (permits: string, { leaseMs = 30_000, markMs = 0, ofAll = 0 } = {}) =>
    run(ACQUIRE, [...KEYS, 'w'], { permits, leaseMs, markMs, channel: CHANNEL, ofAll });
  const leave = (permits: string) => run(RELEASE, KEYS, { permits, channel: CHANNEL });
  const cancel = (permits: string) => run(CANCEL, [...KEYS, 'w'], { permits, channel: CHANNEL });
  const once = { markerTtlMs: 600_000, channel: CHANNEL };
  const add = (permits: number, request: string) =>
    run(ADD, [...KEYS, request], { permits, ...once });
  const trySet = (permits: number, request: string) =>
    run(TRY_SET, [...KEYS, request], { permits, ...once }).then(({ count }) => count === 1);
  const set = (permits: number | string, request: string) =>
    run(SET, [...KEYS, request], { permits, ...once });
  const release = (permits: string, request: string) =>
    run(RELEASE_PERMITS, [...KEYS, request], { permits, ...once }).then(({ count }) => count === 1);
  const restore = (permits: string, capacity: number, request: string) =>
    run(RESTORE, [...KEYS, request], { permits, ...once, capacity });
  const count = () => run(LOOK, KEYS, {});
  const put = async (free: number | string, ...leases: [id: string, leftMs: number][]) => {
    const now = await serverNow(redis.admin);
    await redis.admin.set('k', free);
    for (const [id, leftMs] of leases) {
      await redis.admin.zadd('{k}:timeout', now + leftMs, Buffer.from(id, 'hex'));
    }
  };

  /** Times in seconds. */
  const look = async () => {
    const now = await serverNow(redis.admin);
    const members = await redis.admin.zrangeBuffer('{k}:timeout', '0', '-1', 'WITHSCORES');
    const leases: Record<string, number> = {};
    for (let i = 0; i < members.length; i += 2) {
      leases[members[i]?.toString('hex') ?? ''] = secondsUntil(Number(members[i + 1]), now);
    }
    return { free: await redis.admin.get('k'), leases, mark: await redis.admin.get('w') };
  };
  const granted = { kind: 'granted', fencingToken: undefined };

  describe('without one of its rights', () => {
    const commands = SEMAPHORE_FOOTPRINT.commands.map((command) => [command] as const);
    const steps: [string, (request: string) => Promise<unknown>][] = [
      ['acquire', () => enter(A)],
      ['release', () => leave(`${A},${B}`)],
      ['cancel', () => cancel(B)],
      ['tryRelease', (request) => release(`${A},${B}`, request)],
      ['trySetPermits', (request) => trySet(7, request)],
      ['setPermits', (request) => set(7, request)],
      ['addPermits', (request) => add(1, request)],
      ['restore', (request) => restore('d2'.repeat(16), 6, request)],
    ];
    const total = async () =>
      Number(await redis.admin.get('k')) + (await redis.admin.zcard('{k}:timeout'));

    it.each(commands)(
      '%s: no permit is lost, and the step is done once it is back',
      async (one) => {
        for (const [name, step] of steps) {
          await redis.admin.flushall();
          // One of them is expired; all are there once `acquire` has taken it back.
          await put(2, [A, 20_000], [B, 20_000], [C, -1_000]);
          if (name === 'acquire') await redis.admin.zrem('{k}:timeout', Buffer.from(A, 'hex'));
          const before = await total();
          const error: unknown = await redis
            .without([one], () => step('r'))
            .then(
              () => undefined,
              (e: unknown) => e,
            );
          if (error === undefined) continue;
          expect([name, await total()]).toEqual([name, before]);
          await step('r');
          const isMore = name === 'addPermits' || name === 'restore';
          const changed = name === 'setPermits' ? 7 : before + Number(isMore);
          expect([name, await total()]).toEqual([name, changed]);
        }
      },
    );
  });

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    it('enter takes what it names once, all of it', async () => {
      await put(5);
      expect(await repeatedly(() => enter(`${A},${B}`))).toEqual(granted);
      expect(await look()).toEqual({ free: '3', leases: { [A]: 30, [B]: 30 }, mark: null });
    });

    it.each([
      ['all that are in no place', 2, [A, B], 5, '4'],
      ['no more than the capacity', 2, [A, B], 4, '3'],
      ['none that is held', 2, [C], 5, '2'],
      ['none of a number that is not set', undefined, [A], 5, null],
    ] as const)('restore counts %s', async (_, free, lost, capacity, counter) => {
      await put(free ?? 0, [C, 30_000]);
      if (free === undefined) await redis.admin.del('k');
      await repeatedly(() => restore(lost.join(','), capacity, 'r'));
      expect(await look()).toEqual({ free: counter, leases: { [C]: 30 }, mark: null });
    });

    it('enter says that they are not set', async () => {
      expect(await repeatedly(() => enter(A))).toMatchObject({ kind: 'busy', isUnset: true });
      expect(await look()).toEqual({ free: null, leases: {}, mark: null });
    });

    it('enter sets what is absent, takes its part once, and tells of the rest', async () => {
      const sent = await redis.commandsDuring(async () => {
        expect(await repeatedly(() => enter(`${A},${B}`, { ofAll: 5 }))).toEqual(granted);
      });
      expect(sent.publish).toBe(1);
      expect(await look()).toEqual({ free: '3', leases: { [A]: 30, [B]: 30 }, mark: null });
    });

    it('enter counts the permits in use among those that it sets', async () => {
      await put(0, [B, 10_000], [C, -10_000]);
      await redis.admin.del('k');
      expect(await repeatedly(() => enter(A, { ofAll: 3 }))).toEqual(granted);
      expect(await look()).toEqual({ free: '1', leases: { [A]: 30, [B]: 10 }, mark: null });
    });

    it('enter of more than it may set sets nothing', async () => {
      for (let time = 0; time < times; time += 1) {
        await expect(enter(`${A},${B}`, { ofAll: 1 })).rejects.toThrow('1 permits in all');
      }
      expect(await look()).toEqual({ free: null, leases: {}, mark: null });
    });

    it('enter takes the last ones once', async () => {
      await put(2);
      expect(await repeatedly(() => enter(`${A},${B}`))).toEqual(granted);
      expect(await look()).toMatchObject({ free: '0' });
    });

    it('enter takes none when there are too few, and says when the next one ends', async () => {
      await put(1, [C, 10_000]);
      for (let time = 0; time < times; time += 1) {
        const answer = await enter(`${A},${B}`, { markMs: 3_000 });
        expect(answer).toMatchObject({ kind: 'busy' });
        const { remainingMs } = answer as { remainingMs: number };
        expect(remainingMs).toBeGreaterThan(9_000);
        expect(remainingMs).toBeLessThanOrEqual(10_000);
        expect(await look()).toEqual({ free: '1', leases: { [C]: 10 }, mark: `${A}:2` });
      }
    });

    it('enter lets another owner in only if enough is left for the one that waits', async () => {
      await put(3);
      await redis.admin.set('w', `${C}:2`, 'PX', 3_000);
      for (let time = 0; time < times; time += 1)
        expect(await enter(`${A},${B}`, { markMs: 3_000 })).toMatchObject({ kind: 'busy' });
      expect(await look()).toEqual({ free: '3', leases: {}, mark: `${C}:2` });
      expect(await repeatedly(() => enter(A))).toEqual(granted);
      expect(await look()).toEqual({ free: '2', leases: { [A]: 30 }, mark: `${C}:2` });
    });

    it.each([
      [3, 1],
      [2, undefined],
    ])('enter of the one who waited tells the others what is left: of %d', async (free, told) => {
      await put(free);
      await redis.admin.set('w', `${A}:2`, 'PX', 3_000);
      const sent = await redis.commandsDuring(async () => {
        expect(await repeatedly(() => enter(`${A},${B}`))).toEqual(granted);
      });
      expect(sent.publish).toBe(told);
      expect(await look()).toMatchObject({ free: String(free - 2), mark: null });
    });

    it('enter takes back what has expired, and gives it out', async () => {
      await put(0, [C, -5_000], [B, 20_000]);
      expect(await repeatedly(() => enter(A))).toEqual(granted);
      expect(await look()).toMatchObject({ free: '0', leases: { [A]: 30, [B]: 20 } });
    });

    it('enter that arrives once more never shortens what was renewed meanwhile', async () => {
      await put(1, [A, 60_000], [B, 9_000]);
      expect(await repeatedly(() => enter(`${A},${B}`))).toEqual(granted);
      expect(await look()).toMatchObject({ free: '1', leases: { [A]: 60, [B]: 30 } });
    });

    it('leave releases what is there, once, and says whether that was all', async () => {
      await put(1, [A, 9_000], [B, 9_000], [C, 9_000]);
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await leave(`${A},${B}`));
      expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      expect(await look()).toMatchObject({ free: '3', leases: { [C]: 9 } });
      expect(await repeatedly(() => leave(B))).toBe('absent');
      expect(await leave(`${A},${C}`)).toBe('absent');
      expect(await look()).toMatchObject({ free: '4', leases: {} });
    });

    it('cancel releases what was granted, and takes the mark away', async () => {
      await put(1, [A, 9_000]);
      await redis.admin.set('w', `${A}:2`, 'PX', 3_000);
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await cancel(`${A},${B}`));
      expect(answers).toEqual(times === 1 ? ['absent'] : Array(times).fill('absent'));
      expect(await look()).toEqual({ free: '2', leases: {}, mark: null });
    });

    it('cancel leaves the mark of another waiter', async () => {
      await put(1);
      await redis.admin.set('w', `${B}:2`, 'PX', 3_000);
      await repeatedly(() => cancel(A));
      expect(await look()).toEqual({ free: '1', leases: {}, mark: `${B}:2` });
    });

    it('renew prolongs what is there completely, never shortens, and creates nothing', async () => {
      await put(1, [A, 9_000], [B, 60_000]);
      await redis.admin.set('string', 'x');
      const keys = ['{k}:timeout', '{k}:timeout', 'string', 'absent'];
      const args = [`${A},${B}`, 20_000, `${A},${C}`, 90_000, A, 20_000, A, 20_000];
      expect(await repeatedly(() => run(RENEW, keys, args))).toEqual([true, false, false, false]);
      expect(await look()).toMatchObject({ free: '1', leases: { [A]: 20, [B]: 60 } });
      expect(await redis.admin.exists('absent')).toBe(0);
    });

    it('try-set answers once for one request, and once for all', async () => {
      expect(await repeatedly(() => trySet(5, 'r1'))).toBe(true);
      expect(await repeatedly(() => trySet(7, 'r2'))).toBe(false);
      expect(await look()).toMatchObject({ free: '5' });
      expect(await redis.admin.pttl('r1')).toBeGreaterThan(590_000);
      expect(await redis.admin.exists('r2')).toBe(0);
    });

    it('set makes it so many in all', async () => {
      await put(3, [A, 9_000]);
      await repeatedly(() => set(10, 'r1'));
      expect(await look()).toMatchObject({ free: '9', leases: { [A]: 9 } });
      await redis.admin.zadd('{k}:timeout', (await serverNow(redis.admin)) + 9_000, B);
      await repeatedly(() => set(1, 'r2'));
      expect((await look()).free).toBe('-1');
      // The first call once more, late.
      await set(10, 'r1');
      expect((await look()).free).toBe('-1');
    });

    it('add counts once for one request', async () => {
      await repeatedly(() => add(5, 'r1'));
      await repeatedly(() => add(-7, 'r2'));
      expect(await look()).toMatchObject({ free: '-2' });
    });

    it('release returns all of them or none, and answers once for one request', async () => {
      await put(0, [A, 9_000], [B, 9_000], [C, -1_000]);
      expect(await repeatedly(() => release(`${A},${C}`, 'r1'))).toBe(false);
      expect(await repeatedly(() => release(`${A},${'00'.repeat(16)}`, 'r2'))).toBe(false);
      expect(await look()).toMatchObject({ free: '0' });
      expect(await repeatedly(() => release(`${A},${B}`, 'r3'))).toBe(true);
      expect(await look()).toMatchObject({ free: '2', leases: { [C]: -1 } });
      expect(await release(A, 'r4')).toBe(false);
    });

    it('update-lease moves the end of one permit, either way', async () => {
      await put(0, [A, 9_000], [C, -1_000]);
      const update = (permits: string, leaseMs: number) =>
        run(UPDATE_LEASE, ['{k}:timeout'], { permits, leaseMs });
      expect(await repeatedly(() => update(A, 60_000))).toBe(true);
      expect(await repeatedly(() => update(A, 5_000))).toBe(true);
      expect(await repeatedly(() => update(C, 5_000))).toBe(false);
      expect(await repeatedly(() => update(B, 5_000))).toBe(false);
      expect(await look()).toMatchObject({ leases: { [A]: 5, [C]: -1 } });
    });

    it('look counts what has expired as free, and changes nothing', async () => {
      await put(1, [A, 9_000], [C, -1_000]);
      const counts = { available: 2, acquired: 1, capacity: 3 };
      expect(await repeatedly(() => count())).toEqual(counts);
      await redis.admin.flushall();
      expect(await repeatedly(() => count())).toEqual({ available: 0, acquired: 0, capacity: 0 });
    });
  });

  it('holds 16 raw bytes for each permit, and whole milliseconds of the server', async () => {
    await put(1);
    await enter(C, { leaseMs: 7_500 });
    const [member, score] = await redis.admin.zrangeBuffer('{k}:timeout', '0', '-1', 'WITHSCORES');
    expect(member).toEqual(Buffer.from(C, 'hex'));
    expect(String(score)).toMatch(/^\d{13}$/);
  });

  it('takes back 10,000 expired permits in one step, and more in several', async () => {
    await put(0);
    for (let i = 0; i < 25_000; i += 5_000) {
      const entries = Array.from({ length: 5_000 }, (_, j) => [1, `expired ${String(i + j)}`]);
      await redis.admin.zadd('{k}:timeout', ...entries.flat());
    }
    expect(await count()).toEqual({ available: 25_000, acquired: 0, capacity: 25_000 });
    expect(await enter(A)).toBe('unfinished');
    expect(await redis.admin.get('k')).toBe('10000');
    expect(await enter(A)).toBe('unfinished');
    expect(await enter(A)).toEqual(granted);
    expect(await look()).toMatchObject({ free: '24999', leases: { [A]: 30 } });
  });

  it('never takes back a permit without a lease', async () => {
    await redis.admin.set('k', 0);
    await redis.admin.zadd('{k}:timeout', '922337203685477', Buffer.from(A, 'hex'));
    expect(await enter(B)).toEqual({ kind: 'busy', remainingMs: Infinity });
    expect(await count()).toEqual({ available: 0, acquired: 1, capacity: 1 });
    expect(await run(LEASE_TIME, ['{k}:timeout'], { permits: A })).toBe(-1);
    expect(await run(RENEW, ['{k}:timeout'], [A, 1_000])).toEqual([true]);
    expect(await redis.admin.zscore('{k}:timeout', Buffer.from(A, 'hex'))).toBe('922337203685477');
  });

  it('takes, renews and releases 1,000 permits at once', async () => {
    await put(1_000);
    const ids = Array.from({ length: 1_000 }, (_, i) => i.toString(16).padStart(32, '0'));
    const permits = ids.join(',');
    expect(await enter(permits)).toEqual(granted);
    expect(await run(RENEW, ['{k}:timeout'], [permits, 60_000])).toEqual([true]);
    expect(await release(permits, 'r')).toBe(true);
    expect(await look()).toEqual({ free: '1000', leases: {}, mark: null });
  });

  it('keeps the TTL of the counter, and copies it onto the leases', async () => {
    await put(1);
    await redis.admin.pexpire('k', 50_000);
    await enter(A);
    await set(8, 'r1');
    await add(1, 'r2');
    for (const key of KEYS) expect(await redis.admin.pttl(key)).toBeGreaterThan(49_000);
  });

  it.each([
    ['add: how many are free', 1, () => add(2, 'r'), '3'],
    ['add: nothing below 1', -2, () => add(2, 'r'), undefined],
    ['add: nothing of fewer', 5, () => add(-2, 'r'), undefined],
    ['set: how many are free', 1, () => set(4, 'r'), '3'],
    ['set: nothing of as many, or fewer', 3, () => set(4, 'r'), undefined],
    ['leave: how many are free', 1, () => leave(A), '2'],
    ['leave: nothing below 1', -1, () => leave(A), undefined],
    ['leave: no more than a Java service can count', 5_000_000_000, () => leave(A), '2147483647'],
  ])('publishes, by %s', async (_, free, step, published) => {
    await put(free, [A, 9_000]);
    const heard: string[] = [];
    const listener = redis.admin.duplicate();
    listener.on('message', (_channel, payload: string) => heard.push(payload));
    await listener.subscribe(CHANNEL);
    await step();
    await redis.admin.publish(CHANNEL, 'end');
    await eventually(() => heard.includes('end'));
    listener.disconnect();
    expect(heard).toEqual([...(published === undefined ? [] : [published]), 'end']);
  });

  it('counts no permit for a semaphore whose counter is gone', async () => {
    await put(1, [A, 9_000], [B, 9_000]);
    await redis.admin.del('k');
    expect(await count()).toEqual({ available: 0, acquired: 2, capacity: 0 });
    expect(await leave(A)).toBe('done');
    expect(await redis.admin.exists('k')).toBe(0);
    expect(await enter(B)).toEqual(granted);
    expect(await redis.admin.exists('k')).toBe(0);
    expect(await trySet(5, 'r')).toBe(true);
    expect(await count()).toEqual({ available: 4, acquired: 1, capacity: 5 });
  });

  describe('arguments', () => {
    const scripts: [string, (bad: string) => Promise<unknown>][] = [
      ['enter: lease', (bad) => enter(A, { leaseMs: bad as unknown as number })],
      ['enter: mark', (bad) => enter(A, { markMs: bad as unknown as number })],
      ['renew: a later lease', (bad) => run(RENEW, KEYS, [A, 60_000, A, bad])],
      ['try-set: permits', (bad) => trySet(bad as unknown as number, 'r')],
      ['set: permits', (bad) => set(bad, 'r')],
      ['update-lease: lease', (bad) => run(UPDATE_LEASE, KEYS, [A, bad])],
    ];
    it.each(scripts)('%s is refused before the first write', async (_, call) => {
      await put(1, [A, 9_000]);
      for (const bad of BAD_NUMBERS) {
        await expect(call(bad)).rejects.toThrow('LOCKARG');
        expect(await look()).toEqual({ free: '1', leases: { [A]: 9 }, mark: null });
      }
    });

    it.each([
      ['enter', (ids: string) => enter(ids)],
      ['leave', (ids: string) => leave(ids)],
      ['cancel', (ids: string) => cancel(ids)],
      ['release', (ids: string) => release(ids, 'r')],
      ['renew', (ids: string) => run(RENEW, KEYS, [A, 9_000, ids, 9_000])],
      ['update-lease', (ids: string) => run(UPDATE_LEASE, KEYS, [ids, 9_000])],
      ['lease-time', (ids: string) => run(LEASE_TIME, KEYS, [ids])],
    ])('%s refuses what is no permit id', async (_, call) => {
      await put(1, [A, 9_000]);
      for (const bad of ['', ',', 'x'.repeat(32), A.slice(1), `${A}0`, `${A},${B}0`, `${A} `]) {
        await expect(call(bad)).rejects.toThrow('LOCKARG');
        expect(await look()).toEqual({ free: '1', leases: { [A]: 9 }, mark: null });
      }
    });

    it('add refuses what is no whole number', async () => {
      for (const bad of ['NaN', '1.5', '1e3', '', '--1', '+1', '1'.repeat(16)])
        await expect(add(bad as unknown as number, 'r')).rejects.toThrow('LOCKARG');
      expect(await redis.admin.dbsize()).toBe(0);
    });

    it('leases of 0 are refused: they would free what they promise to hold', async () => {
      await put(1, [A, 9_000]);
      await expect(enter(A, { leaseMs: 0 })).rejects.toThrow('LOCKARG');
      await expect(run(RENEW, KEYS, [A, 0, A, 0])).rejects.toThrow('LOCKARG');
      await expect(run(UPDATE_LEASE, KEYS, [A, 0])).rejects.toThrow('LOCKARG');
    });
  });

  it.each([
    ...[
      ACQUIRE,
      RELEASE,
      CANCEL,
      RENEW,
      LOOK,
      TRY_SET,
      SET,
      ADD,
      RELEASE_PERMITS,
      RESTORE,
      UPDATE_LEASE,
    ],
  ])('$name takes no answer it does not know for a success', (script) => {
    for (const reply of [7, 'x', '', null, undefined, {}, [null], ['x', 1.5, {}]]) {
      if (script === RENEW && Array.isArray(reply) && reply[0] === null) continue;
      const decode = () => (script as Script<string, string, unknown>).decode(reply);
      expect(decode).toThrow('makes no sense');
    }
  });
});
