import { describeValue } from '../core/api/errors.js';
import type { LockNames } from './lock-kinds.js';
import { refuse } from '../core/api/refuse.js';

/** Makes the names of a decorated method's locks from its input: arguments, or a context. */
export interface NameMaker<Input> {
  /** @throws {LockConfigurationError} the template cannot be filled */
  fill(template: string): (input: Input) => string;
  call(key: (...args: readonly unknown[]) => unknown, input: Input): unknown;
  /** The forms that a key may have, for messages. */
  readonly forms: string;
}

/**
 * The function that makes the names from the key of a decorator.
 * @param mayBeSeveral whether the kind of lock can be acquired under several names at once
 * @throws {LockConfigurationError} the key cannot work
 */
export function namesFrom<Input>(
  key: unknown,
  where: string,
  maker: NameMaker<Input>,
  mayBeSeveral: boolean,
): (input: Input) => LockNames {
  if (typeof key === 'string') return maker.fill(key);
  if (isTexts(key)) {
    refuseSeveral(where, mayBeSeveral);
    const fills = key.map((template) => maker.fill(template));
    return (input) => fills.map((fill) => fill(input));
  }
  if (!isFunction(key)) refuse(where, `the key must be ${maker.forms}, not ${describeValue(key)}`);
  return (input) => {
    const names = maker.call(key, input);
    // A promise is refused as a name. Without this handler its rejection would end the process.
    if (names instanceof Promise) names.catch(() => undefined);
    if (Array.isArray(names)) refuseSeveral(where, mayBeSeveral);
    return names as LockNames;
  };
}

function refuseSeveral(where: string, mayBeSeveral: boolean): void {
  if (mayBeSeveral) return;
  refuse(where, 'permits of several semaphores cannot be acquired as one');
}

function isTexts(key: unknown): key is readonly string[] {
  if (!Array.isArray(key) || key.length === 0) return false;
  // A copy has no holes.
  return Array.from<unknown>(key).every((one) => typeof one === 'string');
}

function isFunction(key: unknown): key is (...args: readonly unknown[]) => unknown {
  return typeof key === 'function';
}
