/** Why a semaphore without permits refuses every call, and the remedy. */
export const UNSET_PERMITS = 'its permits are not set: give capacity or call trySetPermits';

const SHOWN_LENGTH = 128;

/** A name as messages show it: quoted, control characters escaped, at most 128 characters. */
export function quoteName(name: string): string {
  return JSON.stringify(shortened(name));
}

function shortened(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH - 1)}…`;
}

/** A refused value as messages show it: its kind, or the value itself if it is short. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return quoteName(value);
  if (typeof value === 'bigint') return `${shortened(String(value))}n`;
  if (value === null || typeof value === 'undefined') return String(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const kind = typeof value === 'object' ? classOf(value) : typeof value;
  return /^[AEIOaeio]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

/** Works for errors of any realm. It must not throw: a revoked proxy throws at every access. */
function classOf(value: object): string {
  try {
    const { constructor } = Object.getPrototypeOf(value) as { constructor?: { name?: unknown } };
    const name = String(constructor?.name);
    const isPlain = name === 'Object' || name === 'Array' || !/^[\w$]{1,64}$/.test(name);
    return isPlain ? (Array.isArray(value) ? 'array' : 'object') : name;
  } catch {
    return 'object';
  }
}

/** The holder of a lock that was not acquired, and the remedy. */
export function heldBy(
  holder: 'other' | 'sibling' | 'surrounding',
  retryAfterMs: number,
  others: readonly string[],
): string {
  if (holder === 'surrounding') {
    return (
      'a hold of this name surrounds the call, which cannot join it. ' +
      "Either nesting is 'wait', or the hold is of another kind. Code inside of it must not await this"
    );
  }
  const who = holder === 'sibling' ? 'another branch of the same scope' : 'another owner';
  // Also when a counting semaphore has too few permits.
  const isEndless = retryAfterMs === Infinity;
  const why = isEndless ? 'it was not released, and has no lease that expires' : `${who} holds it`;
  if (others.length > 0) {
    return (
      `${why}, while this call holds ${namesOf(others)}. Both may wait for each other: ` +
      'acquire locks in the same order everywhere, or together with multi'
    );
  }
  return isEndless ? why : `${why}; raise waitTimeMs or shorten the critical section`;
}

/** A multi lock may have a thousand. */
function namesOf(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(quoteName).join(', ');
  return names.length > 5 ? `${shown} and ${String(names.length - 5)} more` : shown;
}
