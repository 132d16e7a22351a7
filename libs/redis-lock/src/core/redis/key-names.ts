import { UNSAFE_CHARACTERS } from '../api/shapes.js';
import { describeValue, LockConfigurationError, LockKeyError, quoteName } from '../api/errors.js';

/** The longest key that this library makes from a name, in UTF-8 bytes. */
export const MAX_KEY_BYTES = 1024;

/**
 * The only place that makes keys and channels. The rules are Redisson's. The lock's key is the
 * plain name, and helper keys are `prefix:{name}`. A name with its own hash tag gets no braces: all
 * keys of one lock share a slot.
 */
export class KeySpace {
  readonly #prefix: string;

  constructor(prefix: string) {
    if (prefix !== '') refuseKey(prefix, 'keyPrefix', KeyPrefixError);
    this.#prefix = prefix;
  }

  /** The key of a lock. Checks the name. */
  key(name: unknown): string {
    if (typeof name !== 'string') {
      const message = `A lock name must be a string, not ${describeValue(name)}`;
      throw new LockKeyError(message, { origin: 'code' });
    }
    if (name === '') throw new LockKeyError('A lock name must not be empty', { lockName: '' });
    const key = this.#prefix + name;
    if (!PLAIN.test(key)) {
      // Behind a prefix, leading white space would be in the middle.
      if (name.trim() !== name) refuseKey(name, 'lock name', LockKeyError);
      refuseKey(key, 'lock name', LockKeyError);
    }
    return key;
  }

  /** The name of the lock with this key. */
  nameOf(key: string): string {
    return this.#prefix === '' ? key : key.slice(this.#prefix.length);
  }
}

/**
 * The rights that a Redis user needs for one kind of lock. The scripts and the client determine
 * them, and specs compare both. `doctor` and docs/security.md use this.
 */
export interface Footprint {
  readonly commands: readonly string[];
  /** The text before `{name}` in each helper key. An empty text where the helper's name follows. */
  readonly keys: readonly string[];
  readonly channels: readonly string[];
}

/** The prefix of such a helper key or channel. */
export function prefixOf(helper: string): string {
  return `${helper}:`;
}

/** Redisson's name of a helper key or channel of a lock. */
export function helperKey(prefix: string, key: string): string {
  return key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;
}

/** As `helperKey`, where Redisson appends the name of the helper. */
export function suffixedKey(key: string, suffix: string): string {
  return key.includes('{') ? `${key}:${suffix}` : `{${key}}:${suffix}`;
}

/**
 * Processes of this library subscribe to this channel beside that of wake-ups. Outsiders, such as
 * Java services, do not.
 */
export function nodesChannel(wakeUp: string): string {
  return `${wakeUp}:nodes`;
}

class KeyPrefixError extends LockConfigurationError {}

/** Nearly every name has this form, and passes with one check. */
const PLAIN = /^(?!redisson_|nestjs_)[\w.:/-]{1,256}$/;

function refuseKey(key: string, what: string, ErrorClass: new (message: string) => Error): void {
  const problem = problemOf(key);
  if (problem !== undefined) {
    throw new ErrorClass(`The ${what} ${quoteName(key)} is not valid: ${problem}`);
  }
}

function problemOf(key: string): string | undefined {
  if (key.trim() !== key || key === '') return 'it begins or ends with white space';
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`;
  const unsafe = UNSAFE_CHARACTERS.exec(key)?.[0].codePointAt(0)?.toString(16).toUpperCase();
  if (unsafe !== undefined) {
    return `it contains a control or invisible character, U+${unsafe.padStart(4, '0')}`;
  }
  const helper = ['redisson_', 'nestjs_'].find((prefix) => key.startsWith(prefix));
  if (helper !== undefined) return `"${helper}" is reserved for helper keys`;
  if (/\}.*:timeout$|:rwlock_timeout:/.test(key)) return 'it is a helper key of another name';
  return hashTagProblem(key);
}

/** With several or broken hash tags, lock and helper keys would be in different slots. */
function hashTagProblem(key: string): string | undefined {
  const braces = key.replace(/[^{}]/g, '');
  if (braces === '') return undefined;
  if (braces !== '{}') return 'it may contain at most one pair of braces';
  if (key.includes('{}')) return 'its hash tag is empty';
  if (key.startsWith('{') && key.endsWith('}')) {
    return 'it consists of a hash tag only, and would share helper keys with the name without braces';
  }
  return undefined;
}
