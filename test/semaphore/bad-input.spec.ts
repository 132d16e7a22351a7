import { describe, expect, it } from '@jest/globals';
import { LockArgumentError, LockKeyError, LockStateError } from 'nestjs-redis-lock/core';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import type { SemaphoreAcquireOptions } from '../../libs/redis-lock/src/primitives/semaphore/semaphore.js';
import { eventually, roundTrips, useClients } from '../support/set-up.js';

/** List d.6 of the bad inputs: semaphores and permits. */
describe('SemaphoreService given bad input (d.6)', () => {
  const { redis, open } = useClients(SemaphoreService);
  const ID = '0123456789abcdef'.repeat(2);

  const semaphoreOf = async (permits: number, name = 'a') => {
    const semaphore = open().locks.get(name);
    await redis.admin.set(name, permits);
    // Sends all that a new connection has to send.
    await semaphore.permits();
    return semaphore;
  };
  /** Refused before anything is sent. */
  const refused = async (call: () => Promise<unknown>) => {
    const sent = await redis.commandsDuring(async () => {
      await expect(call()).rejects.toBeInstanceOf(LockArgumentError);
    });
    expect(sent).toEqual({});
  };

  it.each([
    ['109', 0],
    ['110', -1],
    ['111', 1.5],
    ['112', NaN],
    ['114', 2 ** 31],
    ['115', 2 ** 53],
    ['', 1_001],
    ['', '1'],
    ['', null],
    ['', -0],
  ])('%s acquires no %p permits', async (_, permits) => {
    const semaphore = await semaphoreOf(5);
    const options = { permits } as SemaphoreAcquireOptions;
    await refused(() => semaphore.acquire(options));
    await refused(() => semaphore.tryAcquire(options));
    await refused(() => semaphore.using(() => undefined, options));
  });

  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 31, 2 ** 53, '5', null, undefined])(
    '116 sets no capacity of %p',
    async (permits) => {
      const semaphore = await semaphoreOf(5);
      await refused(() => semaphore.trySetPermits(permits as number));
      await refused(() => semaphore.setPermits(permits as number));
      if (permits === undefined) return;
      const capacity = permits as number;
      await refused(() => semaphore.acquire({ capacity }));
      const { locks } = open();
      expect(() => locks.get('a', { capacity })).toThrow(LockArgumentError);
      expect(() => locks.counting('a', { capacity })).toThrow(LockArgumentError);
    },
  );

  it.each([null, 5, [], { permits: 5 }, { Capacity: 5 }])(
    'has no semaphore with the options %p',
    (options) => {
      const { locks } = open();
      expect(() => locks.get('a', options as never)).toThrow(LockArgumentError);
      expect(() => locks.counting('a', options as never)).toThrow(LockArgumentError);
    },
  );

  it.each([1.5, NaN, Infinity, 2 ** 31, -(2 ** 31), '5', null, undefined])(
    'adds no %p permits',
    async (permits) => {
      const semaphore = await semaphoreOf(5);
      await refused(() => semaphore.addPermits(permits as number));
    },
  );

  it('113 refuses more than there are in all at once, held or not', async () => {
    const semaphore = await semaphoreOf(5);
    const attempts = () => [
      semaphore.acquire({ permits: 6, waitTimeMs: Infinity }),
      semaphore.tryAcquire({ permits: 6 }),
    ];
    for (const attempt of attempts()) await expect(attempt).rejects.toBeInstanceOf(LockStateError);
    await semaphore.acquire({ permits: 5 });
    for (const attempt of attempts()) await expect(attempt).rejects.toBeInstanceOf(LockStateError);
    expect(await semaphore.availablePermits()).toBe(0);
  });

  it('gives a call more permits than its capacity where others have set more', async () => {
    const { locks } = open();
    const semaphore = locks.get('a', { capacity: 2 });
    await expect(semaphore.acquire({ permits: 3 })).rejects.toBeInstanceOf(LockStateError);
    await semaphore.setPermits(3);
    await (await semaphore.acquire({ permits: 3 })).release();
  });

  it('117 follows a capacity that changes while permits are held', async () => {
    const semaphore = await semaphoreOf(5);
    const lease = await semaphore.acquire({ permits: 5 });
    await semaphore.setPermits(2);
    expect(await semaphore.availablePermits()).toBe(-3);
    lease.assertHeld();
    await lease.release();
    expect(await semaphore.availablePermits()).toBe(2);
    await expect(semaphore.acquire({ permits: 3 })).rejects.toBeInstanceOf(LockStateError);
  });

  it('refuses a capacity that no Java service can count', async () => {
    const semaphore = await semaphoreOf(2 ** 31 - 1);
    await expect(semaphore.addPermits(1)).rejects.toBeInstanceOf(LockStateError);
    expect(await semaphore.permits()).toBe(2 ** 31 - 1);
    await (await semaphore.acquire()).release();
  });

  it('118, 122 releases no permit twice, nor more than were acquired', async () => {
    const semaphore = await semaphoreOf(5);
    const { permitIds } = await semaphore.acquire({ permits: 2 });
    await expect(semaphore.release([...permitIds, ID])).rejects.toBeInstanceOf(LockStateError);
    await semaphore.release([...permitIds, ...permitIds]);
    expect(await semaphore.availablePermits()).toBe(5);
    await expect(semaphore.release(permitIds)).rejects.toBeInstanceOf(LockStateError);
    expect(await semaphore.tryRelease(permitIds[0] ?? '')).toBe(false);
    expect(await semaphore.availablePermits()).toBe(5);
  });

  it('119 releases no unknown permit', async () => {
    const semaphore = await semaphoreOf(5);
    await expect(semaphore.release(ID)).rejects.toThrow('Semaphore "a" released nothing');
    expect(await semaphore.tryRelease(ID)).toBe(false);
    expect(await semaphore.availablePermits()).toBe(5);
  });

  it('120 releases no permit of another semaphore', async () => {
    const [semaphore, other] = [await semaphoreOf(5), await semaphoreOf(5, 'b')];
    const { permitIds } = await other.acquire({ permits: 2 });
    await expect(semaphore.release(permitIds)).rejects.toBeInstanceOf(LockStateError);
    expect(await semaphore.availablePermits()).toBe(5);
    expect(await other.availablePermits()).toBe(3);
  });

  const NO_IDS = [
    ['no text', 5],
    ['nothing', undefined],
    ['empty', ''],
    ['too short', ID.slice(1)],
    ['too long', `${ID}0`],
    ['not hexadecimal', `g${ID.slice(1)}`],
    ['two in one', `${ID},${ID}`],
    ['a line too many', `${ID}\n`],
    ['an empty list', []],
    ['a list with a hole', Object.assign(new Array<string>(2), { 1: ID })],
    ['a list with a wrong one', [ID, ID.slice(1)]],
    ['too many', Array.from({ length: 1_001 }, (_, i) => String(i).padStart(32, '0'))],
  ] as const;
  it.each(NO_IDS)('121 releases no permit by an id that is %s', async (_, ids) => {
    const semaphore = await semaphoreOf(5);
    await refused(() => semaphore.release(ids as string));
    await refused(() => semaphore.tryRelease(ids as string));
  });
  it('121 shows no id that is nearly right', async () => {
    const semaphore = await semaphoreOf(5);
    const error = await semaphore.release(ID.slice(1)).catch((e: unknown) => e);
    expect((error as Error).message).toBe(
      'A permit id has 32 hexadecimal digits; this is a text of 31 characters',
    );
  });
  it('121 knows no lease time by such an id, and sets none that is no time', async () => {
    const semaphore = await semaphoreOf(5);
    for (const [, id] of NO_IDS) {
      await refused(() => semaphore.updateLeaseTime(id as string, 1_000));
      await refused(() => semaphore.remainingTimeMs(id as string));
    }
    for (const leaseTimeMs of [0, 9, -1, 1.5, NaN, Infinity, '1000', undefined])
      await refused(() => semaphore.updateLeaseTime(ID, leaseTimeMs as number));
  });

  it('123 releases no expired permit, which is free all the same', async () => {
    const semaphore = await semaphoreOf(1);
    const { permitIds } = await semaphore.acquire({ leaseTimeMs: 20 });
    await eventually(async () => (await semaphore.availablePermits()) === 1);
    await expect(semaphore.release(permitIds)).rejects.toBeInstanceOf(LockStateError);
    expect(await semaphore.availablePermits()).toBe(1);
  });

  it.each(['abc', '1e3', '', ' 5', '5 ', '0x5', '1.5', '05', '-0', '--1', '9223372036854775808'])(
    '124 makes nothing of a counter that holds %p',
    async (value) => {
      const semaphore = open().locks.get('a');
      await redis.admin.set('a', value);
      const calls: (() => Promise<unknown>)[] = [
        () => semaphore.acquire(),
        () => semaphore.tryAcquire({ permits: 2 }),
        () => semaphore.trySetPermits(5),
        () => semaphore.setPermits(5),
        () => semaphore.addPermits(5),
        () => semaphore.availablePermits(),
        () => semaphore.acquiredPermits(),
        () => semaphore.permits(),
        () => semaphore.release(ID),
      ];
      for (const call of calls) {
        await expect(call()).rejects.toMatchObject({ code: 'LOCK_STATE', lockName: 'a' });
      }
      expect(await redis.admin.get('a')).toBe(value);
      expect(await redis.admin.keys('*')).toEqual(['a']);
    },
  );

  it('124 waits at a negative counter, which a smaller capacity leaves', async () => {
    const semaphore = open().locks.get('a');
    await redis.admin.set('a', -2);
    await redis.admin.zadd(
      '{a}:timeout',
      Date.now() + 60_000,
      ...['x', 0, 'y', 0, 'z'].slice(0, 1),
    );
    await redis.admin.zadd('{a}:timeout', Date.now() + 60_000, 'y', Date.now() + 60_000, 'z');
    expect(await semaphore.tryAcquire()).toBeNull();
    expect(await semaphore.availablePermits()).toBe(-2);
    await redis.admin.del('{a}:timeout');
  });

  it('has nothing to take back from a key of another type', async () => {
    const client = open();
    await redis.admin.hset('a', 'field', 1);
    await expect(client.locks.get('a').acquire()).rejects.toThrow(
      'The key holds another kind of value: use another name, or a keyPrefix',
    );
    await roundTrips(redis, 3);
    expect(client.eventsOf('release-failed')).toEqual([]);
  });

  it('makes nothing of keys of another type', async () => {
    const semaphore = open().locks.get('a');
    await redis.admin.hset('a', 'field', 1);
    await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'LOCK_STATE' });
    await expect(semaphore.setPermits(5)).rejects.toMatchObject({ code: 'LOCK_STATE' });
    await redis.admin.del('a');
    await semaphore.setPermits(5);
    await redis.admin.set('{a}:timeout', 'x');
    await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'LOCK_STATE' });
    await expect(semaphore.permits()).rejects.toMatchObject({ code: 'LOCK_STATE' });
    expect(await redis.admin.get('a')).toBe('5');
  });

  it('releases nothing of a batch with a bad id', async () => {
    const semaphore = await semaphoreOf(5);
    const { permitIds } = await semaphore.acquire({ permits: 3 });
    const expired = await semaphore.acquire({ leaseTimeMs: 30 });
    await eventually(async () => (await semaphore.acquiredPermits()) === 3);
    for (const bad of [ID, ...expired.permitIds]) {
      const release = semaphore.release([...permitIds, bad]);
      await expect(release).rejects.toMatchObject({ code: 'LOCK_STATE', lockName: 'a' });
      expect(await semaphore.acquiredPermits()).toBe(3);
    }
  });

  it('knows its options, and no others', async () => {
    const semaphore = await semaphoreOf(5);
    await refused(() => semaphore.acquire({ fenced: true } as SemaphoreAcquireOptions));
    await refused(() => semaphore.acquire({ permit: 2 } as SemaphoreAcquireOptions));
    await refused(() => semaphore.acquire([] as SemaphoreAcquireOptions));
    await refused(() => semaphore.using(5 as never));
  });

  it('refuses a name that cannot be used', () => {
    const { locks } = open();
    for (const name of ['', ' a', '{', 'a{}', 'redisson_sc:a', 5, null])
      expect(() => locks.get(name as string)).toThrow(LockKeyError);
  });
});
