import { describe, expect, it } from '@jest/globals';
import { LockConfigurationError } from './errors.js';
import { DEFAULT_SETTINGS, resolveSettings } from './settings.js';

// test/lock/bad-input.spec.ts has the values that are refused, with the proof that nothing is
// sent.
describe('resolveSettings', () => {
  it('fills in the defaults', () => {
    expect(resolveSettings()).toEqual({
      name: 'default',
      keyPrefix: '',
      watchdogLeaseMs: 30_000,
      waitTimeMs: 10_000,
      pollIntervalMs: 1_000,
      claimTimeMs: 3_000,
      interop: 'auto',
      shutdownTimeoutMs: 2_000,
      fairLockWaitTimeMs: 300_000,
      wakeUp: 'message',
      publish: 'auto',
      profiles: {},
      maxWaitersPerKey: 10_000,
      maxKeys: 100_000,
      nesting: 'join',
      onEviction: 'warn',
    });
    expect(resolveSettings({ keyPrefix: undefined, watchdogLeaseMs: undefined } as never)).toEqual(
      DEFAULT_SETTINGS,
    );
  });

  it('takes the limits of every range', () => {
    const day = 86_400_000;
    const least = {
      watchdogLeaseMs: 100,
      waitTimeMs: 0,
      pollIntervalMs: 10,
      shutdownTimeoutMs: 0,
      fairLockWaitTimeMs: 1,
      maxWaitersPerKey: 1,
      maxKeys: 1,
    };
    const most = {
      watchdogLeaseMs: day,
      waitTimeMs: Infinity,
      pollIntervalMs: 60_000,
      shutdownTimeoutMs: day,
      fairLockWaitTimeMs: day,
      maxWaitersPerKey: 1_000_000,
      maxKeys: 10_000_000,
    };
    for (const settings of [least, most]) expect(resolveSettings(settings)).toMatchObject(settings);
  });

  it.each([
    { watchdogLeaseMs: 99 },
    { watchdogLeaseMs: 86_400_001 },
    { watchdogLeaseMs: Infinity },
    { waitTimeMs: -1 },
    { pollIntervalMs: 9 },
    { pollIntervalMs: 60_001 },
    { pollIntervalMs: 0 },
    { shutdownTimeoutMs: Infinity },
    { shutdownTimeoutMs: -1 },
    { fairLockWaitTimeMs: 0 },
    { fairLockWaitTimeMs: Infinity },
    { maxWaitersPerKey: 1_000_001 },
    { maxKeys: 10_000_001 },
    { nesting: 'never' },
    { wakeUp: 'never' as 'poll' },
    { keyPrefix: 5 },
    { keyPrefix: null },
    { observer: {} },
    { observer: 'log' },
    { observer: () => undefined },
    { observer: null },
  ])('refuses %p, and names the option', (settings) => {
    const [option = ''] = Object.keys(settings);
    expect(() => resolveSettings(settings as never)).toThrow(LockConfigurationError);
    expect(() => resolveSettings(settings as never)).toThrow(option);
  });
});
