import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import {
  LockArgumentError,
  LockConfigurationError,
  LockKeyError,
  LockService,
  type AcquireOptions,
} from 'nestjs-redis-lock';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

/** The lists d.1, d.3, d.4 and d.5 of bad input: a typed error, and nothing has been sent. */
describe('LockService given bad input', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) => new LockService(context));
  const LIBRARY_ERROR = { message: expect.not.stringMatching(/undefined\.|\[object/) as unknown };

  const refuses = async (calls: (() => unknown)[], error: object) => {
    for (const call of calls) {
      const outcome = await (async () => call())().then(
        (value) => ({ resolved: value }),
        (e: unknown) => e,
      );
      expect(outcome).toBeInstanceOf(Error);
      expect(outcome).toMatchObject({ ...LIBRARY_ERROR, ...error });
      expect((outcome as Error).message.length).toBeLessThan(400);
    }
  };

  const loudObject = {
    toString: () => {
      throw new Error('never ask me');
    },
  };
  const names: [what: string, name: unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['an empty text', ''],
    ['white space', ' \t '],
    ['0', 0],
    ['1', 1],
    ['NaN', NaN],
    ['true', true],
    ['a symbol', Symbol('a')],
    ['a bigint', 1n],
    ['an object', {}],
    ['an array', ['a']],
    ['a function', () => 'a'],
    ['a Date', new Date(0)],
    ['a Buffer', Buffer.from('a')],
    ['a String object', Object('a')],
    ['an object whose toString throws', loudObject],
    ['a promise', Promise.resolve('a')],
    ['1,025 bytes', 'x'.repeat(1_025)],
    ['1,025 bytes of fewer characters', '商'.repeat(342)],
    ['a megabyte', 'x'.repeat(1_000_000)],
    ['NUL', 'a\0b'],
    ['a line feed', 'a\nb'],
    ['a carriage return', 'a\r\nb'],
    ['ESC', 'a\u001bb'],
    ['DEL', 'a\u007fb'],
    ['a C1 control', 'a\u0085b'],
    ['a line separator', 'a\u2028b'],
    ['a lone high surrogate', 'a\ud800b'],
    ['a lone low surrogate', 'a\udc00b'],
    ['a direction override', 'a\u202eb'],
    ['a direction isolate', 'a\u2066b'],
    ['a zero-width space', 'a\u200bb'],
    ['a byte order mark', '\ufeffa'],
    ['an opening brace', '{'],
    ['a closing brace', '}'],
    ['an empty tag', '{}'],
    ['an empty tag before a name', '{}z'],
    ['an empty tag after a name', 'z{}'],
    ['an unbalanced closing brace', 'a}b'],
    ['an unbalanced opening brace', 'a{b'],
    ['braces the wrong way round', 'a}b{c'],
    ['nested tags', '{{x}}'],
    ['two tags', '{a}{b}'],
    ['nothing but a tag, which shares its channel with the bare name', '{x}'],
    ['a helper key', 'redisson_lock__channel:{a}'],
    ['the prefix of helper keys', 'redisson_'],
    ['a space at the end', 'a '],
    ['a space at the beginning', ' a'],
    ['a no-break space at the end', 'a\u00a0'],
  ];

  it.each(names)('refuses %s as a name (d.1)', async (_, name) => {
    const { locks } = open();
    await locks.get('a').isLocked();
    const sent = await redis.commandsDuring(() =>
      refuses(
        [
          () => locks.acquire(name as string),
          () => locks.tryAcquire(name as string),
          () => locks.using(name as string, () => 1),
          () => locks.get(name as string),
        ],
        { code: 'LOCK_KEY', name: 'LockKeyError' },
      ),
    );
    expect(sent).toEqual({});
  });

  it('names an unusable name in the message, shortened and harmless', async () => {
    const { locks } = open();
    await expect(locks.acquire('a\nb')).rejects.toThrow('"a\\nb"');
    const error = await locks.acquire('x'.repeat(5_000)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(LockKeyError);
    expect((error as Error).message.length).toBeLessThan(300);
  });

  it('takes names that look odd and are not', async () => {
    const { locks } = open();
    const odd = ['*?[]\\', 'a b', '__proto__', 'constructor', 'é', 'e\u0301', '"', '%', '🔒', '-0'];
    for (const name of [...odd, 'x'.repeat(1_024), '商'.repeat(341)]) {
      const lease = await locks.tryAcquire(name);
      expect(lease?.name).toBe(name);
      expect(await redis.admin.exists(name)).toBe(1);
      await lease?.release();
    }
  });

  it.each([' a', 'a '])('refuses %p as a name also behind a keyPrefix', async (name) => {
    const { locks } = open({ keyPrefix: 'shop:' });
    await expect(locks.acquire(name)).rejects.toThrow(LockKeyError);
  });

  const leases: unknown[] = [
    ...[0, -1, -0, NaN, Infinity, -Infinity, 1.5, 9, 24 * 60 * 60 * 1_000 + 1, 2 ** 31, 2 ** 53],
    ...[Number.MAX_VALUE, '1000', '1e3', '', null, {}, [], [1_000], true, 1_000n, new Date()],
    ...[new Object(1_000), () => 1_000],
  ];

  it.each(leases)('refuses a lease time of %p (d.3)', async (value) => {
    const { locks } = open();
    const lease = await locks.acquire('held');
    const options = { leaseTimeMs: value } as AcquireOptions;
    const sent = await redis.commandsDuring(async () => {
      await refuses(
        [
          () => locks.acquire('a', options),
          () => locks.tryAcquire('a', options),
          () => locks.using('a', () => 1, options),
          () => locks.get('a').acquire(options),
          () => lease.renew(value as number),
          () => locks.acquire('a', { maxHoldMs: value } as AcquireOptions),
        ],
        { code: 'LOCK_ARGUMENT', name: 'LockArgumentError' },
      );
    });
    expect(sent).toEqual({});
    expect(() => open({ leaseTimeMs: value as number })).toThrow(LockConfigurationError);
  });

  it('refuses a fixed lease together with a limit for the watchdog', async () => {
    const { locks } = open();
    await expect(locks.acquire('a', { leaseTimeMs: 100, maxHoldMs: 100 })).rejects.toThrow(
      LockArgumentError,
    );
  });

  it('takes the shortest and the longest lease', async () => {
    const { locks } = open();
    const day = 24 * 60 * 60 * 1_000;
    const lease = await locks.acquire('a', { leaseTimeMs: day });
    expect(await redis.admin.pttl('a')).toBeGreaterThan(day - 60_000);
    lease.assertHeld();
    await lease.release();
    await locks.tryAcquire('b', { leaseTimeMs: 10, waitTimeMs: 1_000 });
  });

  const waits: unknown[] = [
    ...[-1, -0, NaN, -Infinity, 1.5, 2 ** 31, 2 ** 53, '5s', '5000', '', null, {}, [], true, 5n],
    ...[new Date(), () => 5],
  ];

  it.each(waits)('refuses a wait time of %p (d.4)', async (waitTimeMs) => {
    const { locks } = open();
    const options = { waitTimeMs } as AcquireOptions;
    const sent = await redis.commandsDuring(() =>
      refuses(
        [
          () => locks.acquire('a', options),
          () => locks.tryAcquire('a', options),
          () => locks.using('a', () => 1, options),
        ],
        { code: 'LOCK_ARGUMENT' },
      ),
    );
    expect(sent.evalsha).toBeUndefined();
    expect(() => open({ waitTimeMs: waitTimeMs as number })).toThrow(LockConfigurationError);
  });

  const limits: unknown[] = [
    ...[0, -1, -0, NaN, Infinity, -Infinity, 1.5, 10_000_001, 2 ** 31, 2 ** 53, '1000', '1e3', ''],
    ...[null, {}, [], [1_000], true, 1_000n, new Date(), new Object(1_000), () => 1_000],
  ];

  it.each(limits)('refuses a limit of %p (d.9)', (value) => {
    for (const option of ['maxWaitersPerKey', 'maxKeys']) {
      expect(() => open({ [option]: value })).toThrow(LockConfigurationError);
      expect(() => open({ [option]: value })).toThrow(`${option} must be a whole number from 1 to`);
    }
  });

  const signals: unknown[] = [
    ...[null, true, 'abort', 1, {}, [], new AbortController(), { aborted: false }],
    { aborted: 'no', addEventListener: () => undefined },
  ];

  it.each(signals)('refuses %p as a signal (d.4)', async (signal) => {
    const { locks } = open();
    await expect(locks.acquire('a', { signal } as never)).rejects.toThrow(LockArgumentError);
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it.each([
    ...[null, 'fast', 5, true, [], () => ({})],
    ...[{ wait: 5 }, { leaseTime: 5 }, { LeaseTimeMs: 5_000 }, { __PROTO__: 1 }, { fenced: 1 }],
    ...[
      { fenced: 'yes' },
      { fenced: null },
      { replicas: 1 },
      { minReplicas: -1 },
      { minReplicas: 1.5 },
      { permits: 1 },
    ],
  ])('refuses the options %p', async (options) => {
    const { locks } = open();
    await refuses([() => locks.acquire('a', options as AcquireOptions)], { code: 'LOCK_ARGUMENT' });
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it.each([10n, 10n ** 1_000n].map((value) => [value.toString().length, value] as const))(
    'refuses a bigint of %d digits as any option or setting, and can say so',
    async (_, value) => {
      const { locks } = open();
      const lease = await locks.acquire('held');
      const options = ['waitTimeMs', 'leaseTimeMs', 'maxHoldMs', 'signal', 'fenced', 'other'];
      const given = [value, ...options.map((option) => ({ [option]: value }))] as AcquireOptions[];
      const sent = await redis.commandsDuring(async () => {
        for (const bad of given) {
          const calls = [() => locks.acquire('a', bad), () => locks.tryAcquire('a', bad)];
          await refuses(calls, { code: 'LOCK_ARGUMENT', name: 'LockArgumentError' });
        }
        const work = value as never;
        await refuses([() => locks.using('a', work), () => lease.renew(work)], {
          ...{ code: 'LOCK_ARGUMENT', message: expect.stringMatching(/, not 10+…?n$/) as unknown },
        });
      });
      expect(sent).toEqual({});
      const settings = [
        'waitTimeMs',
        'leaseTimeMs',
        'pollIntervalMs',
        'shutdownTimeoutMs',
        'maxKeys',
      ];
      const openings = [...settings, 'keyPrefix'].map(
        (setting) => () => open({ [setting]: value }),
      );
      await refuses(openings, { code: 'LOCK_CONFIGURATION' });
    },
  );

  it('takes undefined for every option as if it were not given', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', {
      waitTimeMs: undefined,
      leaseTimeMs: undefined,
      signal: undefined,
      fenced: undefined,
      maxHoldMs: undefined,
    });
    expect(lease.fencingToken).toBeUndefined();
    expect(lease.remainingMs).toBeGreaterThan(29_000);
  });

  it('cannot be talked into a release by the JSON of a lease (d.5)', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    const copy = JSON.parse(JSON.stringify(lease)) as Record<string, unknown>;
    expect(copy).toMatchObject({ name: 'a', state: 'held', holdCount: 1 });
    expect(copy.release).toBeUndefined();
    lease.assertHeld();
  });

  it('shows neither owner nor password when a lease is logged', async () => {
    const { locks } = open({ connection: redis.url.replace('//', '//default:s3cret@') });
    const lease = await locks.acquire('a');
    for (const text of [JSON.stringify(lease), inspect(lease, { depth: 20, showHidden: true })]) {
      expect(text).toContain('held');
      expect(text).not.toContain('s3cret');
      expect(text).not.toContain(lease.owner.split(':')[0]);
    }
  });

  it('lets a lease be released only by its own client, by being the lease (d.5)', async () => {
    const [ours, others] = [open(), open()];
    const lease = await ours.locks.acquire('a');
    await others.close();
    lease.assertHeld();
    await lease.release();
  });

  it('names option, value and range in the sentence', async () => {
    const { locks } = open();
    await expect(locks.acquire('a', { leaseTimeMs: 5 })).rejects.toThrow(
      'leaseTimeMs must be a whole number of milliseconds from 10 to 86400000, not 5',
    );
    await expect(locks.acquire('a', { waitTimeMs: '5s' } as never)).rejects.toThrow(
      'waitTimeMs must be a whole number of milliseconds from 0 to 86400000, or Infinity, not "5s"',
    );
    await expect(locks.acquire('a', { wait: 5 } as never)).rejects.toThrow(
      'unknown option "wait"; the options are waitTimeMs, leaseTimeMs, signal, fenced, maxHoldMs',
    );
  });
});
