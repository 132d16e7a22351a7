import { describe, expect, it } from '@jest/globals';
import { LockConfigurationError, LockKeyError } from '../api/errors.js';
import { helperKey, KeySpace, MAX_KEY_BYTES } from './key-names.js';

// test/lock/bad-input.spec.ts has the names that are refused, with the proof that nothing is sent.
describe('KeySpace', () => {
  it('makes the key of a name by putting the prefix before it', () => {
    expect(new KeySpace('').key('stock:1')).toBe('stock:1');
    expect(new KeySpace('shop:').key('stock:1')).toBe('shop:stock:1');
    expect(new KeySpace('{shop}:').key('stock:1')).toBe('{shop}:stock:1');
  });

  it('judges the whole key: prefix and name together', () => {
    expect(() => new KeySpace('{shop}:').key('{a}b')).toThrow(LockKeyError);
    expect(() => new KeySpace('redis').key('son_lock')).toThrow(LockKeyError);
    const long = 'x'.repeat(MAX_KEY_BYTES - 4);
    expect(new KeySpace('shop').key(long)).toHaveLength(MAX_KEY_BYTES);
    expect(() => new KeySpace('shop:').key(long)).toThrow(`longer than ${MAX_KEY_BYTES} bytes`);
  });

  it.each(['shop ', ' shop', 'sh\0op', 'redisson_', 'nestjs_', '{a}{b}', '{', 'x'.repeat(1_025)])(
    'refuses %p as a prefix, which is a matter of the set-up',
    (prefix) => {
      expect(() => new KeySpace(prefix)).toThrow(LockConfigurationError);
    },
  );

  it('knows each helper key by one name only', () => {
    expect(helperKey('redisson_lock__channel', 'a')).toBe('redisson_lock__channel:{a}');
    expect(helperKey('redisson_lock__channel', '{a}b')).toBe('redisson_lock__channel:{a}b');
    expect(helperKey('redisson_lock__channel', 'b{a}')).toBe('redisson_lock__channel:b{a}');
  });

  it.each([
    ...['redisson_lock_queue:{a}', 'nestjs_fair_waiting:{a}', '{a}:timeout', '{a}b:timeout'],
    '{a}:0e7fa2a4-9d42-4c2a-9f57-0d5b3f6f1c11:53:rwlock_timeout:1',
  ])('refuses %p, which is a helper key of another name', (name) => {
    expect(() => new KeySpace('').key(name)).toThrow('helper key');
  });

  it.each(['timeout', 'job:timeout', 'timeout:{a}', 'rwlock_timeout'])('accepts %p', (name) => {
    expect(new KeySpace('').key(name)).toBe(name);
  });

  it('takes both spellings of one letter for different names', () => {
    const keys = new KeySpace('');
    expect(keys.key('é')).not.toBe(keys.key('e\u0301'));
  });

  it('judges a megabyte at once', () => {
    const keys = new KeySpace('');
    const startedAt = performance.now();
    for (const name of ['{'.repeat(1e6), ' '.repeat(1e6), 'ä'.repeat(1e6), '}{'.repeat(5e5)]) {
      expect(() => keys.key(name)).toThrow(LockKeyError);
    }
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});
