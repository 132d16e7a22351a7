import {
  describeValue,
  LockArgumentError,
  LockConfigurationError,
  LockKeyError,
} from './errors.js';
import { isPlainObject, unknownOption } from './shapes.js';

/**
 * @param where the beginning of the message
 * @throws {LockConfigurationError} always
 */
export function refuse(where: string, problem: string): never {
  throw new LockConfigurationError(`${where}: ${problem}`);
}

/** @throws {LockConfigurationError} always: the option has a wrong value */
export function refuseValue(where: string, option: string, what: string, value: unknown): never {
  refuse(where, `${option} must be ${what}, not ${describeValue(value)}`);
}

/** @throws {LockConfigurationError} the options are no plain object */
export function checkObject(where: string, options: unknown): asserts options is object {
  if (!isPlainObject(options)) refuseValue(where, 'the options', 'a plain object', options);
}

/** @throws {LockConfigurationError} an option is unknown */
export function refuseUnknown(options: object, known: readonly string[], where: string): void {
  const problem = unknownOption(options, known);
  if (problem !== undefined) refuse(where, problem);
}

/** @throws {LockConfigurationError} the check refuses an option or a name */
export function refuseArguments(where: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof LockArgumentError || error instanceof LockKeyError)) throw error;
    throw new LockConfigurationError(`${where}: ${error.message}`, { cause: error });
  }
}

/** @throws {LockArgumentError} there is a problem */
export function refuseArgument(problem: string | undefined): void {
  if (problem !== undefined) throw new LockArgumentError(problem);
}
