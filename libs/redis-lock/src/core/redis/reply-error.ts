import {
  LockArgumentError,
  LockBackendError,
  LockKeyError,
  LockStateError,
  MovingSlotError,
  type LockError,
} from '../api/errors.js';

export interface Meaning {
  readonly retryable: boolean;
  readonly outcome: LockBackendError['outcome'];
  readonly what: string;
}

export const PASSING = (what: string): Meaning => ({ retryable: true, outcome: 'none', what });
export const LASTING = (what: string): Meaning => ({ retryable: false, outcome: 'none', what });
export const UNKNOWN = (what: string): Meaning => ({ retryable: true, outcome: 'unknown', what });

const MOVING = 'the slot of the lock is moving';
export const CROWDED = PASSING('Redis accepts no more clients');
export const SUBSCRIBED = LASTING(
  'the Redis client is subscribed to channels; use a separate client for the locks',
);

/**
 * The meaning of the first word of an error reply. Redis refused the command, and nothing happened.
 */
const REPLIES: Readonly<Record<string, Meaning>> = {
  BUSY: PASSING('Redis is busy with a script'),
  LOADING: PASSING('Redis is loading its data'),
  MASTERDOWN: PASSING('the replica has lost its master'),
  READONLY: PASSING('the server is a replica now'),
  NOREPLICAS: PASSING('Redis has too few replicas to accept writes'),
  TRYAGAIN: PASSING(MOVING),
  MOVED: PASSING('the slot of the lock has moved'),
  ASK: PASSING(MOVING),
  CLUSTERDOWN: UNKNOWN('the cluster is down'),
  OOM: LASTING('Redis has no memory left'),
  MISCONF: LASTING('Redis refuses writes because it cannot save them'),
  NOAUTH: LASTING('Redis requires a password'),
  WRONGPASS: LASTING('Redis refused the password'),
  NOPERM: LASTING('the Redis user lacks a permission'),
  NOSCRIPT: PASSING('Redis has forgotten the script'),
  UNKILLABLE: UNKNOWN('the script was stopped'),
};

/**
 * The error for an error reply of Redis, without the command's arguments.
 * @param message as `wordsOf` reads it
 * @param mayHaveRun it was sent before, over a connection that broke. Redis may have executed then
 * what it refuses now
 */
export function replyErrorOf(message: string, mayHaveRun = false): LockError {
  const cause = new Error(message);
  // A missing key counts as a key of the node that the slot moves to. Redis stops the script,
  // which has done a part by then.
  const isStopped = /attempted to access a non local key/i.test(message);
  if (isStopped) return backendError(UNKNOWN(MOVING), cause, MovingSlotError);
  const word = firstWord(message);
  if (word === 'WRONGTYPE') {
    return new LockStateError(
      'The key holds another kind of value: use another name, or a keyPrefix',
      { cause },
    );
  }
  if (word === 'LOCKSTATE') {
    return new LockStateError(message.slice(10), { cause });
  }
  if (word === 'LOCKARG') {
    return new LockArgumentError(`Redis refused an argument: ${message.slice(8)}`, { cause });
  }
  if (word === 'CROSSSLOT') {
    return new LockKeyError('The keys of the lock are in different slots of the cluster', {
      ...{ cause, origin: 'code' },
    });
  }
  const meaning = replyMeaning(message);
  const outcome = mayHaveRun ? 'unknown' : meaning.outcome;
  if (isMovingReply(message)) return movingError(message, outcome);
  return backendError({ ...meaning, outcome }, cause);
}

/** The slot of the lock is moving. The client may report it in words of its own. */
export function movingError(
  message: string,
  outcome: Meaning['outcome'] = 'none',
): LockBackendError {
  const meaning = replyMeaning(isMovingReply(message) ? message : 'TRYAGAIN');
  return backendError({ ...meaning, outcome }, new Error(message), MovingSlotError);
}

/**
 * The slot of a script is moving, with some of its keys here and some there. Redis then refuses with
 * TRYAGAIN, and sends a client from one node to the other.
 */
export function isMovingReply(message: string): boolean {
  return ['TRYAGAIN', 'ASK', 'MOVED'].includes(firstWord(message));
}

/**
 * Before Redis 7, a command's error in a script has its place in front, usually with a minus:
 * `ERR Error running script (call to f_…): @user_script:1: @user_script: 1: -READONLY …`.
 */
const PLACE = /^(ERR )?(Error running script \(call to f_\w+\): )?(@\w+: ?\d+: )+-?/;

/** Redis repeats the arguments of a command that it does not know. */
export function wordsOf(message: string): string {
  const words = message.replace(/,? with args beginning with.*$/s, '');
  return words.replace(PLACE, '').trimEnd();
}

export function firstWord(message: string): string {
  return /^[A-Z]+/.exec(message)?.[0] ?? '';
}

export function backendError(
  { what, ...meaning }: Meaning,
  cause: Error | undefined,
  ErrorClass = LockBackendError,
): LockBackendError {
  return new ErrorClass(what, cause === undefined ? meaning : { ...meaning, cause });
}

export function replyMeaning(message: string): Meaning {
  const meaning = REPLIES[firstWord(message)];
  if (meaning !== undefined) return meaning;
  if (isCrowded(message)) return CROWDED;
  if (/DB index is out of range/i.test(message)) {
    return LASTING('Redis has no database of that number');
  }
  // Scripts put the errors of their commands into texts of their own.
  if (/can't access|can't run|can't publish|No permission/i.test(message)) {
    return LASTING('the Redis user lacks a permission');
  }
  // A command right after the SUBSCRIBE, when ioredis did not know yet that Redis accepted it.
  if (message.includes('are allowed in this context')) return SUBSCRIBED;
  if (/killed by user/i.test(message)) return UNKNOWN('the script was stopped');
  return LASTING(`Redis answered: ${message || 'an error'}`);
}

/** A client may meet it as the answer to its first command, or as the end of the connection. */
export function isCrowded(message: string): boolean {
  return message.includes('max number of clients');
}
