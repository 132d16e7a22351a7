import { describe, expect, it } from '@jest/globals';
import { LockArgumentError } from './errors.js';
import { resolveAcquireOptions } from './resolve-options.js';
import { DEFAULT_SETTINGS } from './settings.js';

const OTHERS = {
  maxHoldMs: Infinity,
  minReplicas: 0,
  permits: 1,
  minHoldMs: 0,
  holdAfter: 'always',
  nesting: 'join',
};

describe('resolveAcquireOptions', () => {
  const settings = { ...DEFAULT_SETTINGS, watchdogLeaseMs: 20_000 };

  it('prefers the call to the settings', () => {
    expect(resolveAcquireOptions(undefined, settings, 7)).toEqual({
      waitTimeMs: 7,
      leaseTimeMs: 20_000,
      watchdogLeaseMs: 20_000,
      signal: undefined,
      fenced: false,
      ...OTHERS,
    });
    const { signal } = new AbortController();
    const options = { waitTimeMs: 0, leaseTimeMs: 10, signal, fenced: true };
    expect(resolveAcquireOptions(options, settings, 7)).toEqual({
      ...options,
      watchdogLeaseMs: 0,
      ...OTHERS,
    });
  });

  it('takes any AbortSignal, also one of another realm', () => {
    const { signal } = new AbortController();
    const foreign = new Proxy(signal, { getPrototypeOf: () => Object.prototype });
    expect(resolveAcquireOptions({ signal: foreign }, settings, 7).signal).toBe(foreign);
  });

  it('looks at own options only', () => {
    const inherited = Object.create({ waitTimeMs: -1 }) as object;
    expect(() => resolveAcquireOptions(inherited, settings, 7)).toThrow(LockArgumentError);
    const polluted = JSON.parse('{"__proto__": {"watchdogLeaseMs": 5}}') as object;
    expect(() => resolveAcquireOptions(polluted, settings, 7)).toThrow(LockArgumentError);
  });
});
