import { Logger } from '@nestjs/common';

import { describeValue, LockConfigurationError } from '../core/api/errors.js';
import { DEFAULT_NAME, isConnectionName, unusableName } from '../core/api/settings.js';
import { isPlainObject } from '../core/api/shapes.js';
import { optionsObject, readOptions, type FamilyOptions } from '../family/options.js';
import { refuse, refuseUnknown, refuseValue } from '../core/api/refuse.js';

/** The options of the locks, and of their lines in Nest's log. */
export interface ModuleOptions extends FamilyOptions {
  readonly logAcquisitions: boolean;
}

type Options = Readonly<Record<string, unknown>>;

const FACTORIES = ['useFactory', 'useClass', 'useExisting'] as const;

/** The kind of each option of `forRootAsync`, and its check. */
const ASYNC_OPTIONS: Readonly<Record<string, [what: string, fits: (value: unknown) => boolean]>> = {
  imports: ['a list of modules', Array.isArray],
  inject: ['a list of the parameters of useFactory', Array.isArray],
  useFactory: ['a function', isFunction],
  useClass: ['a class', isFunction],
  useExisting: ['a class', isFunction],
  extraProviders: ['a list of providers', Array.isArray],
};

/** After this time the log shows why the application does not start yet. */
const SLOW_FACTORY_MS = 10_000;

/**
 * @throws {LockConfigurationError} the options of `forRoot` are no object, or have an unknown name
 */
export function optionsGiven(given: unknown, from: string): ModuleOptions {
  const { isGlobal, ...options } = optionsObject(given, from);
  checkFlag('isGlobal', isGlobal, from);
  return withLog(options, from, ['isGlobal', 'name']);
}

/**
 * @throws {LockConfigurationError} the factory failed, or its options are no object, or have an
 * unknown name
 */
export async function optionsMade(
  make: () => unknown,
  name: string,
  from: string,
): Promise<ModuleOptions> {
  const factory = `The factory of ${from}`;
  let made: unknown;
  const slow = setTimeout(() => {
    const waits = 'the application waits for it';
    new Logger('RedisLock').warn(`${factory} has not settled after 10 s; ${waits}`);
  }, SLOW_FACTORY_MS);
  try {
    made = await make();
  } catch (error) {
    throw new LockConfigurationError(`${factory} failed: ${messageOf(error)}`, { cause: error });
  } finally {
    clearTimeout(slow);
  }
  const options = optionsObject(made, factory);
  for (const option of ['isGlobal', 'name']) {
    if (!(option in options)) continue;
    throw new LockConfigurationError(
      `${factory} must not return ${option}, which Nest needs first; put it beside the factory`,
    );
  }
  const { settings, ...read } = withLog(options, factory);
  return { ...read, settings: { ...settings, name } };
}

function withLog(options: Options, from: string, extras: readonly string[] = []): ModuleOptions {
  const { logAcquisitions, ...others } = options;
  checkFlag('logAcquisitions', logAcquisitions, from);
  const read = readOptions(others, from, ['logAcquisitions', ...extras]);
  return { ...read, logAcquisitions: logAcquisitions ?? false };
}

/**
 * The options that Nest needs first: the name of the connection, and whether it is global. A value
 * that is no object is refused later, with the other options.
 * @throws {LockConfigurationError} the name cannot be used
 */
export function extrasGiven(given: unknown, from: string): { name: string; isGlobal: boolean } {
  const options: Options = isPlainObject(given) ? { ...given } : {};
  const { name = DEFAULT_NAME, isGlobal = true } = options;
  if (!isConnectionName(name)) refuse(from, unusableName(name));
  return { name, isGlobal: Boolean(isGlobal) };
}

/** @throws {LockConfigurationError} there is not exactly one factory, or an unknown name */
export function checkAsyncOptions(given: unknown, from: string): void {
  const options = optionsObject(given, from);
  refuseUnknown(options, [...Object.keys(ASYNC_OPTIONS), 'isGlobal', 'name'], from);
  checkFlag('isGlobal', options.isGlobal, from);
  for (const [option, [what, fits]] of Object.entries(ASYNC_OPTIONS)) {
    const value = options[option];
    if (value === undefined || fits(value)) continue;
    refuseValue(from, option, what, value);
  }
  const factories = FACTORIES.filter((factory) => options[factory] !== undefined);
  if (factories.length === 1) return;
  const found = factories.length === 0 ? 'none of them' : factories.join(' and ');
  throw new LockConfigurationError(
    `${from} needs exactly one of ${FACTORIES.join(', ')}; it has ${found}`,
  );
}

function checkFlag(
  option: string,
  value: unknown,
  from: string,
): asserts value is boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return;
  refuseValue(from, option, 'true or false', value);
}

/** The message of an error often contains the url, with its password. */
function messageOf(error: unknown): string {
  // Code may throw any value, also one that cannot become a text.
  const { message = error } = isError(error) ? error : {};
  const text = typeof message === 'string' ? message : describeValue(message);
  return text.replace(/:\/\/[^/\s]*@/g, '://…@');
}

function isError(error: unknown): error is { readonly message: string } {
  try {
    return typeof (error as Partial<Error> | null)?.message === 'string';
  } catch {
    return false;
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}
