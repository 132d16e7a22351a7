import { quoteName } from './errors.js';
import {
  checkAcquireOptions,
  LOCK_OPTIONS,
  type AnyAcquireOptions,
  type ResolvedAcquireOptions,
} from './options.js';
import { refuseArgument } from './refuse.js';
import type { LockSettings } from './settings.js';
import { withDefaultOptions } from './shapes.js';

/** Fills in the defaults of one call and checks it. No other place does either. */
export function resolveAcquireOptions(
  given: AnyAcquireOptions | undefined,
  settings: LockSettings,
  defaultWaitMs: number,
  known: readonly string[] = LOCK_OPTIONS,
): ResolvedAcquireOptions {
  const options = given === undefined ? undefined : withProfile(given, settings, known);
  const { leaseTimeMs, minHoldMs = 0, watchdogLeaseMs = settings.watchdogLeaseMs } = options ?? {};
  const holdAfter = options?.holdAfter ?? 'always';
  // After a crash the lock stays held for `minHoldMs`, too. A crash is no success.
  const leastMs = holdAfter === 'always' ? minHoldMs : 0;
  return {
    waitTimeMs: options?.waitTimeMs ?? defaultWaitMs,
    leaseTimeMs: leaseTimeMs ?? Math.max(watchdogLeaseMs, leastMs),
    watchdogLeaseMs: leaseTimeMs === undefined ? watchdogLeaseMs : 0,
    signal: options?.signal,
    fenced: options?.fenced ?? false,
    maxHoldMs: options?.maxHoldMs ?? Infinity,
    minReplicas: options?.minReplicas ?? 0,
    permits: options?.permits ?? 1,
    capacity: options?.capacity,
    label: options?.label,
    minHoldMs,
    holdAfter,
    nesting: options?.nesting ?? settings.nesting,
  };
}

/**
 * The checked options of a call, with those of its profile.
 * @throws {LockArgumentError} an option is not valid, or the profile does not exist
 */
export function withProfile(
  options: AnyAcquireOptions,
  { name, profiles }: Pick<LockSettings, 'name' | 'profiles'>,
  known: readonly string[] = LOCK_OPTIONS,
): AnyAcquireOptions {
  checkAcquireOptions(options, known);
  if (options.profile === undefined) return options;
  const { profile, ...own } = options;
  if (!Object.hasOwn(profiles, profile)) {
    const names = Object.keys(profiles).map(quoteName).join(', ') || 'none';
    refuseArgument(
      `there is no profile ${quoteName(profile)}; the connection ${quoteName(name)} has ${names}`,
    );
  }
  const merged = withDefaultOptions<AnyAcquireOptions>(profiles[profile] ?? {}, own);
  try {
    checkAcquireOptions(merged, known);
  } catch (error) {
    refuseArgument(`with the profile ${quoteName(profile)}: ${(error as Error).message}`);
  }
  return merged;
}
