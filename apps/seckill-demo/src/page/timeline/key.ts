import type { KeySeen, Step } from '../../arena/step.js';

/** The lock in Redis at one moment. */
export interface KeyNow extends Omit<KeySeen, 'kind' | 'cell'> {
  /** It runs on between two reads. Undefined: the key does not expire, or does not exist. */
  readonly ttlMs: number | undefined;
}

export function keyAt(steps: readonly Step[], at: number): KeyNow | undefined {
  const seen = steps
    .filter((step) => step.kind === 'key' && step.at <= at)
    .reduce<Step | undefined>(
      (last, step) => (last === undefined || step.at >= last.at ? step : last),
      undefined,
    );
  if (seen?.kind !== 'key') return undefined;
  const ttlMs = seen.ttlMs === undefined ? undefined : seen.ttlMs - (at - seen.at);
  // Its time is over; the next look will not find it.
  if (ttlMs !== undefined && ttlMs <= 0) return { ...seen, fields: undefined, ttlMs: undefined };
  return { ...seen, ttlMs };
}

/** The command that reads the lock of this cell, and its answer without a lock. */
export function lookAt(steps: readonly Step[]): {
  readonly command: string;
  readonly none: string;
} {
  const seen = steps.flatMap((step) => (step.kind === 'key' ? step : []));
  if (seen.some(({ fields }) => fields !== undefined && '' in fields)) {
    return { command: 'GET', none: '(nil)' };
  }
  // A lock that is held for a moment only may be missed, but not its token.
  return seen.some(({ fields, token }) => fields !== undefined || token !== undefined)
    ? { command: 'HGETALL', none: '(empty array)' }
    : { command: 'EXISTS', none: '(integer) 0' };
}
