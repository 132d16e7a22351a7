import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import {
  LockArgumentError,
  LockConfigurationError,
  LockKeyError,
  LockService,
  LockStateError,
  type AcquireOptions,
} from 'nestjs-redis-lock/core';
import { useClients } from '../support/lock-client.js';
import { FOREIGN_OWNER } from '../support/redisson.js';

/** As it may come from a polyfill. */
const aborted = (reason: unknown) => ({
  ...{ aborted: true, reason },
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
});

/** The lists d.1, d.3, d.4 and d.5 of bad input: a typed error, and nothing has been sent. */
describe('LockService given bad input', () => {
  const { redis, open } = useClients(LockService);
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
  const names: [number: number, what: string, name: unknown][] = [
    [1, 'undefined', undefined],
    [2, 'null', null],
    [3, 'an empty text', ''],
    [4, 'white space', ' \t '],
    [5, '0', 0],
    [6, '1', 1],
    [7, 'NaN', NaN],
    [8, 'true', true],
    [9, 'a symbol', Symbol('a')],
    [6, 'a bigint', 1n],
    [10, 'an object', {}],
    [11, 'an array', ['a']],
    [12, 'a function', () => 'a'],
    [13, 'a Date', new Date(0)],
    [14, 'a Buffer', Buffer.from('a')],
    [38, 'a String object', Object('a')],
    [39, 'an object whose toString throws', loudObject],
    [10, 'a promise', Promise.resolve('a')],
    [15, '1,025 bytes', 'x'.repeat(1_025)],
    [15, '1,025 bytes of fewer characters', '商'.repeat(342)],
    [16, 'a megabyte', 'x'.repeat(1_000_000)],
    [17, 'NUL', 'a\0b'],
    [18, 'a line feed', 'a\nb'],
    [18, 'a carriage return', 'a\r\nb'],
    [19, 'ESC', 'a\u001bb'],
    [19, 'DEL', 'a\u007fb'],
    [19, 'a C1 control', 'a\u0085b'],
    [19, 'a line separator', 'a\u2028b'],
    [20, 'a lone high surrogate', 'a\ud800b'],
    [20, 'a lone low surrogate', 'a\udc00b'],
    [22, 'a direction override', 'a\u202eb'],
    [22, 'a direction isolate', 'a\u2066b'],
    [23, 'a zero-width space', 'a\u200bb'],
    [23, 'a byte order mark', '\ufeffa'],
    [23, 'a soft hyphen', 'a\u00adb'],
    [23, 'a grapheme joiner', 'a\u034fb'],
    [23, 'a Mongolian vowel separator', 'a\u180eb'],
    [23, 'a Hangul filler', 'a\u3164b'],
    [23, 'a Hangul choseong filler', 'a\u115fb'],
    [23, 'a language tag', 'a\u{e0001}b'],
    [23, 'a variation selector, of an emoji too', '❤\ufe0f'],
    [23, 'a joined emoji', '👩\u200d💻'],
    [24, 'an opening brace', '{'],
    [25, 'a closing brace', '}'],
    [26, 'an empty tag', '{}'],
    [29, 'an empty tag before a name', '{}z'],
    [29, 'an empty tag after a name', 'z{}'],
    [27, 'an unbalanced closing brace', 'a}b'],
    [28, 'an unbalanced opening brace', 'a{b'],
    [27, 'braces the wrong way round', 'a}b{c'],
    [31, 'nested tags', '{{x}}'],
    [32, 'two tags', '{a}{b}'],
    [30, 'nothing but a tag, which shares its channel with the bare name', '{x}'],
    [34, 'a helper key', 'redisson_lock__channel:{a}'],
    [33, 'the prefix of helper keys', 'redisson_'],
    [40, 'a space at the end', 'a '],
    [40, 'a space at the beginning', ' a'],
    [40, 'a no-break space at the end', 'a\u00a0'],
  ];

  it.each(names)('d.1/%d refuses %s as a name', async (_, __, name) => {
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
    await expect(locks.acquire('❤\ufe0f')).rejects.toThrow('invisible character, U+FE0F');
    const error = await locks.acquire('x'.repeat(5_000)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(LockKeyError);
    expect((error as Error).message.length).toBeLessThan(300);
  });

  it.each([
    [15, 'x'.repeat(1_024)],
    [15, '商'.repeat(341)],
    ...['é', 'e\u0301'].map((name) => [21, name] as const),
    ...['x', 'a{x}', '{x}a'].map((name) => [30, name] as const),
    ...['*', '?', '*?[]\\', 'h[ae]llo'].map((name) => [35, name] as const),
    ...['__proto__', 'constructor', 'toString'].map((name) => [36, name] as const),
    ...['a b', '"', '%', '🔒', '❤', '🏳', '👍🏽', '-0'].map((name) => [40, name] as const),
  ])('d.1/%d takes a name that looks odd and is not: %s', async (_, name) => {
    const { locks } = open();
    await redis.admin.set('bystander', 1);
    const lease = await locks.tryAcquire(name);
    expect(lease?.name).toBe(name);
    expect((await redis.admin.keys('*')).sort()).toEqual(['bystander', name].sort());
    await lease?.release();
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
          () => locks.acquire('a', { watchdogLeaseMs: value } as AcquireOptions),
        ],
        { code: 'LOCK_ARGUMENT', name: 'LockArgumentError' },
      );
    });
    expect(sent).toEqual({});
    expect(() => open({ watchdogLeaseMs: value as number })).toThrow(LockConfigurationError);
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
    // On a slow machine the lease ends before the answer comes.
    await locks.tryAcquire('b', { leaseTimeMs: 10, waitTimeMs: 1_000 }).catch((error: unknown) => {
      expect((error as Error).message).toContain('its lease of 10 ms ended');
    });
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

  it('refuses a signal that cannot be listened to, before anything is sent (d.4)', async () => {
    const { locks } = open();
    const addEventListener = () => {
      throw new TypeError('not here');
    };
    const signal = { aborted: false, addEventListener, removeEventListener: () => undefined };
    // The greeting of the client does not count.
    expect(await locks.get('a').isLocked()).toBe(false);
    const sent = await redis.commandsDuring(async () => {
      const refused = locks.acquire('a', { signal } as never);
      await expect(refused).rejects.toThrow(LockArgumentError);
      await expect(refused).rejects.toThrow('take the signal of an AbortController');
    });
    expect(sent).toEqual({});
  });

  it.each(signals)('refuses %p as a signal (d.4)', async (signal) => {
    const { locks } = open();
    await expect(locks.acquire('a', { signal } as never)).rejects.toThrow(LockArgumentError);
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it.each([
    ...[null, 'fast', 5, true, [], () => ({})],
    ...[{ wait: 5 }, { leaseTime: 5 }, { LeaseTimeMs: 5_000 }, { __PROTO__: 1 }, { fenced: 1 }],
    ...[
      ...[{ fenced: 'yes' }, { fenced: null }, { replicas: 1 }, { minReplicas: -1 }],
      ...[{ minReplicas: 1.5 }, { permits: 1 }],
    ],
  ])('refuses the options %p', async (options) => {
    const { locks } = open();
    await refuses([() => locks.acquire('a', options as AcquireOptions)], { code: 'LOCK_ARGUMENT' });
    expect(await redis.admin.exists('a')).toBe(0);
  });

  class OwnOptions {
    readonly waitTimeMs = 5;
  }
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const { signal } = new AbortController();
  it.each<[string, unknown, string]>([
    ['a signal', signal, 'not an AbortSignal; write { signal }'],
    ['a controller', new AbortController(), 'not an AbortController'],
    ['a Promise', Promise.resolve({ waitTimeMs: 5 }), 'not a Promise'],
    ['a Map', new Map([['waitTimeMs', 5]]), 'not a Map'],
    ['a Set', new Set(), 'not a Set'],
    ['a Date', new Date(0), 'not a Date'],
    ['an Error', new Error('x'), 'not an Error'],
    ['an object of a class', new OwnOptions(), 'not an OwnOptions'],
    ['an object that inherits', Object.create({ waitTimeMs: 5 }), 'not an object'],
    ['a revoked proxy', revoked, 'not an object'],
    ['a symbol key', { [Symbol('waitTimeMs')]: 5 }, 'unknown option a symbol'],
    ['a hidden key', Object.defineProperty({}, 'wait', { value: 5 }), 'unknown option "wait"'],
    ['a signal without a reason', { signal: aborted(undefined) }, 'signal must be an AbortSignal'],
    ['a revoked signal', { signal: revoked }, 'signal must be an AbortSignal'],
    ['an empty label', { label: '' }, 'label must be a text of 1 to 1024 characters'],
    ['a label of two lines', { label: 'a\nb' }, 'not "a\\nb"'],
    ['a label with ESC', { label: '\u001b[31m' }, 'label must be'],
    ['a label with NUL', { label: 'a\0' }, 'label must be'],
    ['a label of a megabyte', { label: 'x'.repeat(1_000_000) }, 'label must be'],
  ])('refuses %s where options are due, and nothing is sent', async (_, options, reason) => {
    const { locks } = open();
    await locks.get('a').isLocked();
    const given = options as AcquireOptions;
    const sent = await redis.commandsDuring(() =>
      refuses(
        [
          () => locks.acquire('a', given),
          () => locks.tryAcquire('a', given),
          () => locks.using('a', () => 1, given),
          () => locks.multi(['a', 'b']).acquire(given),
        ],
        { code: 'LOCK_ARGUMENT', message: expect.stringContaining(reason) as unknown },
      ),
    );
    expect(sent).toEqual({});
  });

  it('takes options without a prototype', async () => {
    const { locks } = open();
    const options = Object.assign(Object.create(null) as object, { leaseTimeMs: 5_000 });
    const lease = await locks.acquire('a', options);
    expect(lease.remainingMs).toBeLessThanOrEqual(5_000);
    await lease.release();
  });

  it.each([
    ['a generator', function* () {}],
    ['an async generator', async function* () {}],
    ['a revoked proxy', revoked],
    ['undefined', undefined],
  ])('using: refuses %s as its work, and nothing is sent', async (_, work) => {
    const { locks } = open();
    await locks.get('a').isLocked();
    const all = locks.multi(['a', 'b']);
    const sent = await redis.commandsDuring(() =>
      refuses(
        [
          () => locks.using('a', work as () => unknown),
          () => locks.get('a').using(work as () => unknown),
          () => all.using(work as () => unknown),
        ],
        {
          code: 'LOCK_ARGUMENT',
          message: expect.stringMatching(/^using needs a function/) as unknown,
        },
      ),
    );
    expect(sent).toEqual({});
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
        ...['waitTimeMs', 'watchdogLeaseMs', 'pollIntervalMs', 'shutdownTimeoutMs', 'maxKeys'],
      ];
      const openings = [...settings, 'keyPrefix'].map(
        (setting) => () => open({ [setting]: value }),
      );
      await refuses(openings, { code: 'LOCK_CONFIGURATION' });
    },
  );

  it.each(['abc', '1e3', '-1', '', '1.5', '9007199254740991', '99999999999999999999'])(
    'refuses a token that is %p: it grants nothing, and changes nothing',
    async (value) => {
      const { locks } = open();
      const token = 'redisson_lock_token:{a}';
      await redis.admin.set(token, value);
      await expect(locks.acquire('a', { fenced: true })).rejects.toThrow(LockStateError);
      expect(await redis.admin.get(token)).toBe(value);
      expect(await redis.admin.exists('a')).toBe(0);
    },
  );

  it('waits in vain for a foreign lock without a TTL, and says so', async () => {
    const { locks } = open();
    await redis.admin.hset('a', FOREIGN_OWNER, 1);
    expect(await locks.get('a').remainingTimeMs()).toBe(Infinity);
    await expect(locks.acquire('a', { waitTimeMs: 400 })).rejects.toMatchObject({
      ...{ code: 'LOCK_TIMEOUT', retryAfterMs: Infinity },
    });
    expect(await redis.admin.pttl('a')).toBe(-1);
    expect(await locks.get('a').forceRelease()).toBe(true);
    expect(await locks.tryAcquire('a')).not.toBeNull();
  });

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
      'unknown option "wait"; the options are waitTimeMs, signal, profile, leaseTimeMs, watchdogLeaseMs',
    );
  });
});
