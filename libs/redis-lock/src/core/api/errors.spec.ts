import { describe, expect, it } from '@jest/globals';
import {
  describeValue,
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockConfigurationError,
  LockError,
  LockKeyError,
  LockLimitError,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  quoteName,
} from './errors.js';
import { inspect } from 'node:util';

describe('LockError', () => {
  const backend = { retryable: true, outcome: 'none' } as const;
  const all: [code: string, error: LockError][] = [
    ['LOCK_TIMEOUT', new LockTimeoutError('a', { waitedMs: 1.4, retryAfterMs: 0 })],
    ['LEASE_LOST', new LeaseLostError('a', 'gone')],
    ['LOCK_BACKEND', new LockBackendError('broken', backend)],
    ['LOCK_STATE', new LockStateError('strange')],
    ['LOCK_KEY', new LockKeyError('bad name')],
    ['LOCK_ARGUMENT', new LockArgumentError('bad option')],
    ['LOCK_CONFIGURATION', new LockConfigurationError('bad set-up')],
    ['LOCK_LIMIT', new LockLimitError('a', 'maxKeys', 5)],
    ['LOCK_SHUTDOWN', new LockShutdownError('a')],
  ];

  it.each(all)('%s is a LockError with a stable code and its own name', (code, error) => {
    expect(error).toBeInstanceOf(LockError);
    expect(error).toBeInstanceOf(Error);
    expect(error.code).toBe(code);
    expect(error.name).toBe(error.constructor.name);
    expect(error.stack).toContain(error.message);
    // An own property `cause` would appear in logs, also when it is undefined.
    expect(Object.hasOwn(error, 'cause')).toBe(false);
  });

  it.each(all)('%s survives JSON with name, code and message', (code, error) => {
    const { name, message } = error;
    const seen: unknown = JSON.parse(JSON.stringify({ error }));
    expect(seen).toEqual({ error: expect.objectContaining({ name, code, message }) });
    expect(structuredClone(error.toJSON())).toMatchObject({ name, code, message });
  });

  it('keeps the cause that it was given', () => {
    const cause = new Error('why');
    expect(new LockStateError('strange', { cause }).cause).toBe(cause);
    expect(new LeaseLostError('a', 'expired', { cause }).cause).toBe(cause);
  });

  it.each(all)('%s points to its section of the docs, also in JSON', (code, error) => {
    const help = `https://unpkg.com/nestjs-redis-lock/docs/errors.md#${code.toLowerCase()}`;
    expect(error.help).toBe(help);
    expect(error.toJSON()).toHaveProperty('help', help);
    expect(inspect(error)).not.toContain('unpkg');
  });

  it.each<[unknown]>([[{ card: 's3cret' }], [10n], [circular()]])(
    'keeps the result %p of the work, which no log shows',
    (result) => {
      const lost = new LeaseLostError('a', 'gone', { result });
      expect(lost.result).toBe(result);
      expect(JSON.parse(JSON.stringify({ lost }))).not.toHaveProperty('lost.result');
      expect(inspect(lost)).not.toMatch(/result|s3cret/);
      expect(inspect(Object.entries(lost))).not.toMatch(/result|s3cret/);
    },
  );

  it('says what is known about a loss, and nothing of what is not', () => {
    const cause = new LockBackendError('no answer', backend);
    const known = {
      confirmedAt: new Date('2026-05-04T03:02:01.000Z'),
      confirmedAgoMs: 30_012,
      stoodStillMs: 29_000,
      renewalFailedAt: new Date('2026-05-04T03:02:11.000Z'),
      renewalFailedWith: 'no answer',
    };
    const lost = new LeaseLostError('a', 'expired', { ...known, cause });
    expect(lost).toMatchObject({ ...known, cause });
    expect(lost.message).toBe(
      'Lock "a" lost: its lease expired by the local clock ' +
        '(confirmed 30012 ms ago, stood still for 29000 ms)',
    );
    expect(JSON.parse(JSON.stringify(lost))).toMatchObject({
      ...known,
      confirmedAt: '2026-05-04T03:02:01.000Z',
      renewalFailedAt: '2026-05-04T03:02:11.000Z',
    });
    const awake = new LeaseLostError('a', 'gone', { confirmedAgoMs: 5, stoodStillMs: 0 });
    expect(awake.message).toMatch(/force-released \(confirmed 5 ms ago\)$/);
    expect(inspect(new LeaseLostError('a', 'overtaken'))).not.toMatch(/confirmed|stood|renewal/);
  });

  it('says how long a caller waited, in milliseconds that have begun', () => {
    const details = { waitedMs: 49.2, retryAfterMs: 1 };
    expect(new LockTimeoutError('a', details).waitedMs).toBe(50);
  });

  it('says when to try again: at least one whole millisecond', () => {
    const details = [0, 0.2, 1, 1.5, Infinity].map((retryAfterMs) => {
      return new LockTimeoutError('a', { waitedMs: 0, retryAfterMs }).retryAfterMs;
    });
    expect(details).toEqual([1, 1, 1, 2, Infinity]);
  });
});

function circular(): object {
  const ring: { ring?: unknown } = {};
  ring.ring = ring;
  return ring;
}

describe('quoteName', () => {
  it('shows control characters as what they are, and never more than 128 characters', () => {
    expect(quoteName('stock:1')).toBe('"stock:1"');
    expect(quoteName('a\n"\u001b[31m')).toBe('"a\\n\\"\\u001b[31m"');
    expect(quoteName('x'.repeat(128))).toBe(`"${'x'.repeat(128)}"`);
    expect(quoteName('x'.repeat(129))).toBe(`"${'x'.repeat(127)}…"`);
  });
});

describe('describeValue', () => {
  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [NaN, 'NaN'],
    [-0, '0'],
    [true, 'true'],
    [10n, '10n'],
    [10n ** 1_000n, `1${'0'.repeat(126)}…n`],
    ['5s', '"5s"'],
    ['x'.repeat(1_000), `"${'x'.repeat(127)}…"`],
    [{ secret: 's3cret' }, 'an object'],
    [['s3cret'], 'an array'],
    [Object.create(null), 'an object'],
    [new Map([['s3cret', 1]]), 'a Map'],
    [AbortSignal.abort('s3cret'), 'an AbortSignal'],
    [Symbol('s3cret'), 'a symbol'],
    [() => 's3cret', 'a function'],
  ])('describes %p without giving away what is in it', (value, text) => {
    expect(describeValue(value)).toBe(text);
  });

  it('describes what cannot even be asked', () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    expect(describeValue(proxy)).toBe('an object');
  });
});
