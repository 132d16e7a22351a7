import { isReply } from '../connection/reply-error.js';

/** An answer with errors of Redis in it, as `isReply` knows them. */
export function readable(raw: unknown): unknown {
  // A bundler may have renamed the class of an error.
  if (Array.isArray(raw)) for (const one of raw) if (one instanceof Error) named(one, true);
  return raw;
}

/**
 * node-redis calls an error of Redis "Error". The locks know it by the name that ioredis uses.
 * @param isAnswer only Redis can have rejected the command
 */
export function named(error: unknown, isAnswer = false): unknown {
  if (typeof error !== 'object' || error === null || isReply(error)) return error;
  if (isAnswer || isErrorReply(error)) {
    Object.defineProperty(error, 'name', { value: 'ReplyError', configurable: true });
  }
  return error;
}

/** By the name of its class: an application may have several copies of node-redis. */
function isErrorReply(error: object): boolean {
  for (let one: unknown = error; typeof one === 'object' && one !== null;) {
    if (one.constructor.name === 'ErrorReply') return true;
    one = Object.getPrototypeOf(one);
  }
  return false;
}
