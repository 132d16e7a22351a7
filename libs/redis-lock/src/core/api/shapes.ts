import { describeValue } from './errors.js';

/**
 * Characters that no name may have: controls, lone surrogates, and characters that make two
 * different names look the same. They are invisible, change the direction, or only choose a form of
 * emoji.
 */
export const UNSAFE_CHARACTERS =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;

/** True for an object with only its own properties: no list, Promise or signal. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    return prototype === null || Object.getPrototypeOf(prototype) === null;
  } catch {
    // A revoked proxy.
    return false;
  }
}

/** Whether all of these are methods of the value. False for null and for a revoked proxy. */
export function hasMethods(value: unknown, ...methods: readonly string[]): boolean {
  try {
    const methodsOf = value as Readonly<Record<string, unknown>>;
    return methods.every((method) => typeof methodsOf[method] === 'function');
  } catch {
    return false;
  }
}

/**
 * The message for an own name that is none of the options. Symbols and non-enumerable names count.
 */
export function unknownOption(options: object, known: readonly string[]): string | undefined {
  // Reflect.ownKeys takes ten times as long, in every call that has options.
  const unknown =
    Object.getOwnPropertyNames(options).find((option) => !known.includes(option)) ??
    Object.getOwnPropertySymbols(options)[0];
  if (unknown === undefined) return undefined;
  return `unknown option ${describeValue(unknown)}; the options are ${known.join(', ')}`;
}

/** The options of a call. Defaults replace those that are missing or undefined. Checks nothing. */
export function withDefaultOptions<O extends object>(defaults: O, given: O | undefined): O {
  if (given === undefined) return defaults;
  // The call itself refuses a value that cannot have options.
  if (!isPlainObject(given)) return given;
  const said = Object.entries(defaults).filter(
    ([option]) => Reflect.get(given, option) === undefined,
  );
  return { ...given, ...Object.fromEntries(said) };
}

/**
 * Checks the shape: an AbortSignal of another realm is accepted. Callers reject with its reason.
 */
export function isAbortSignal(value: unknown): boolean {
  if (!hasMethods(value, 'addEventListener', 'removeEventListener')) return false;
  const { aborted, reason } = value as { aborted: unknown; reason: unknown };
  return typeof aborted === 'boolean' && (reason !== undefined || !aborted);
}
