import { UNSAFE_CHARACTERS } from '../api/shapes.js';
import { describeValue, LockConfigurationError, LockKeyError, quoteName } from '../api/errors.js';

/** The longest key this library makes from a name, in UTF-8 bytes. */
export const MAX_KEY_BYTES = 1024;

/**
 * The only place where keys and channels are made. The rules are Redisson's: the lock's key is the
 * plain name, and helpers are `prefix:{name}`. A name with a hash tag of its own gets no braces, so
 * that all keys of one lock share a slot.
 */
export class KeySpace {
  readonly #prefix: string;

  constructor(prefix: string) {
    if (prefix !== '') refuse(prefix, 'keyPrefix', KeyPrefixError);
    this.#prefix = prefix;
  }

  /** The key of a lock, after the name was checked. */
  key(name: unknown): string {
    if (typeof name !== 'string') {
      throw new LockKeyError(`A lock name must be a string, not ${describeValue(name)}`);
    }
    if (name === '') throw new LockKeyError('A lock name must not be empty', { lockName: '' });
    const key = this.#prefix + name;
    if (!PLAIN.test(key)) {
      // Behind a prefix, white space at the beginning would be in the middle.
      if (name.trim() !== name) refuse(name, 'lock name', LockKeyError);
      refuse(key, 'lock name', LockKeyError);
    }
    return key;
  }

  /** The name of the lock with this key. */
  nameOf(key: string): string {
    return this.#prefix === '' ? key : key.slice(this.#prefix.length);
  }
}

/**
 * The rights that a Redis user needs for one kind of lock. The scripts and the client decide; the specs
 * compare these with them, and `doctor` and docs/security.md take their rules from here.
 */
export interface Footprint {
  readonly commands: readonly string[];
  /** The text before `{name}` in each key beside the plain name; '' where the helper is behind. */
  readonly keys: readonly string[];
  readonly channels: readonly string[];
}

/** The prefix of such a helper key or channel. */
export function prefixOf(helper: string): string {
  return `${helper}:`;
}

/** Redisson's name of a helper key or channel that belongs to a lock. */
export function helperKey(prefix: string, key: string): string {
  return key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;
}

/** As `helperKey`, where Redisson appends the name of the helper. */
export function suffixedKey(key: string, suffix: string): string {
  return key.includes('{') ? `${key}:${suffix}` : `{${key}}:${suffix}`;
}

/**
 * Our processes subscribe to this beside the channel of wake-ups; outsiders, such as Java services,
 * do not.
 */
export function nodesChannel(wakeUp: string): string {
  return `${wakeUp}:nodes`;
}

class KeyPrefixError extends LockConfigurationError {}

/** Nearly every name has this form, and passes with one look. */
const PLAIN = /^(?!redisson_|nestjs_)[\w.:/-]{1,256}$/;

function refuse(key: string, what: string, ErrorClass: new (message: string) => Error): void {
  const problem = problemOf(key);
  if (problem !== undefined) {
    throw new ErrorClass(`The ${what} ${quoteName(key)} cannot be used: ${problem}`);
  }
}

function problemOf(key: string): string | undefined {
  if (key.trim() !== key || key === '') return 'it begins or ends with white space';
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`;
  const unsafe = UNSAFE_CHARACTERS.exec(key)?.[0].codePointAt(0)?.toString(16).toUpperCase();
  if (unsafe !== undefined) {
    return `it holds a control or an invisible character, U+${unsafe.padStart(4, '0')}`;
  }
  const helper = ['redisson_', 'nestjs_'].find((prefix) => key.startsWith(prefix));
  if (helper !== undefined) return `"${helper}" begins the helper keys of locks`;
  if (/\}.*:timeout$|:rwlock_timeout:/.test(key))
    return 'it is that of a helper key of another name';
  return hashTagProblem(key);
}

/** With several tags, or with a broken one, lock and helper keys would end up in different slots. */
function hashTagProblem(key: string): string | undefined {
  const braces = key.replace(/[^{}]/g, '');
  if (braces === '') return undefined;
  if (braces !== '{}') return 'it may hold one pair of braces at most';
  if (key.includes('{}')) return 'its hash tag is empty';
  if (key.startsWith('{') && key.endsWith('}')) {
    return 'a name that is nothing but a hash tag shares its helper keys with the name without braces';
  }
  return undefined;
}
