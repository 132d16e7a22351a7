import {
  LockArgumentError,
  LockBackendError,
  LockKeyError,
  LockStateError,
  MovingSlotError,
  quoteName,
  LockReplicationError,
  type LockError,
} from '../core/api/errors.js';

interface Meaning {
  readonly retryable: boolean;
  readonly outcome: LockBackendError['outcome'];
  readonly what: string;
}

const PASSING = (what: string): Meaning => ({ retryable: true, outcome: 'none', what });
const LASTING = (what: string): Meaning => ({ retryable: false, outcome: 'none', what });
const UNKNOWN = (what: string): Meaning => ({ retryable: true, outcome: 'unknown', what });

const MOVING = 'the slot of the lock is moving';
const BROKEN = UNKNOWN('the connection to Redis broke');
const CROWDED = PASSING('Redis accepts no more clients');
const SUBSCRIBED = LASTING(
  'the ioredis client is subscribed to channels; use a separate client for the locks',
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
 * Turns any rejection of ioredis into an error of this library, without the command's arguments.
 * @param mayHaveRun it was sent before, over a connection that broke. Redis may have executed then
 * what it refuses now
 */
export function lockErrorOf(error: unknown, mayHaveRun = false): LockError {
  const message = messageOf(error);
  const cause = new Error(message);
  // A missing key counts as a key of the node that the slot moves to. Redis stops the script,
  // which has done a part by then.
  const isStopped = /attempted to access a non local key/i.test(message);
  if (isStopped) return backendError(UNKNOWN(MOVING), cause, MovingSlotError);
  const isMoving = isMovingSlot(error);
  if (!isReply(error) && !isMoving) return backendError(connectionMeaning(message), cause);

  // Otherwise each node has sent ioredis on to another one, until it gave up.
  const refusal = isReply(error) ? message : 'TRYAGAIN';
  const word = firstWord(refusal);
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
  const meaning = replyMeaning(refusal);
  const outcome = mayHaveRun ? 'unknown' : meaning.outcome;
  const ErrorClass = isMoving ? MovingSlotError : LockBackendError;
  return backendError({ ...meaning, outcome }, cause, ErrorClass);
}

/** There is no connection; `trouble` is the last error of ioredis. */
export function noConnectionError(trouble: unknown): LockBackendError {
  const meaning = PASSING('there is no connection to Redis');
  if (trouble === undefined) return backendError(meaning, undefined);
  const message = messageOf(trouble);
  const cause = new Error(message);
  if (isUntrusted(trouble)) {
    const what = `${meaning.what}: its TLS certificate is not trusted (${message})`;
    return backendError(LASTING(what), cause);
  }
  if (!isReply(trouble)) {
    return backendError({ ...meaning, what: `${meaning.what}${reasonOf(trouble)}` }, cause);
  }
  const { what, retryable } = replyMeaning(message);
  return backendError({ ...meaning, what: `${meaning.what}: ${what}`, retryable }, cause);
}

/** The code of the socket, without an address. A TLS mismatch shows in no other way. */
function reasonOf(trouble: unknown): string {
  const code = textIn(trouble, 'code');
  if (/^(ENOTFOUND|EAI_AGAIN)$/.test(code)) {
    return `: the host ${quoteName(textIn(trouble, 'hostname'))} is unknown (${code})`;
  }
  if (/^(ECONNRESET|EPROTO|ERR_SSL_.*)$/.test(code) || /ETIMEDOUT/.test(messageOf(trouble))) {
    const shown = code === '' ? 'ETIMEDOUT' : code;
    return ` (${shown}); if it persists, check whether only one side uses TLS (rediss://)`;
  }
  return code === '' ? '' : ` (${code})`;
}

/** By the codes of OpenSSL, and Node's own for a certificate of another host. */
function isUntrusted(trouble: unknown): boolean {
  const code = textIn(trouble, 'code');
  return /^(CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET|VERIFY)_|ERR_TLS_CERT_)/.test(code);
}

/** The connection broke under a command, whose outcome is unknown. */
export function brokenError(): LockBackendError {
  return backendError(BROKEN, undefined);
}

/** Redis has done it, but too few replicas have confirmed it in time. */
export function shortOfReplicasError(minReplicas: number, replicas: number): LockReplicationError {
  const message =
    `${String(replicas)} of the ${String(minReplicas)} replicas that minReplicas requires ` +
    `confirmed the write; repair the replicas, or lower minReplicas`;
  return new LockReplicationError(message, {
    ...{ retryable: false, outcome: 'unknown' },
    ...{ minReplicas, replicas },
  });
}

/** One connection leads to the master, and the other to its predecessor. */
export function twoServersError(): LockBackendError {
  return backendError(PASSING('the connections to Redis lead to two servers'), undefined);
}

/** Redis did not confirm the database of the connection, so nothing was sent. */
export function unconfirmedDatabaseError(error: unknown): LockBackendError {
  const message = messageOf(error);
  const meaning = isReply(error) ? replyMeaning(message) : connectionMeaning(message);
  return backendError({ ...meaning, outcome: 'none' }, new Error(message));
}

/** Redis does not know the command, or does not allow it: a second try would fail too. */
export function isRefusal(error: unknown): boolean {
  return isReply(error) && ['ERR', 'NOPERM'].includes(firstWord(messageOf(error)));
}

/** The server is a replica by now: another one may be the master. */
export function isOfReplica(error: unknown): boolean {
  return isReply(error) && ['READONLY', 'MASTERDOWN'].includes(firstWord(messageOf(error)));
}

/**
 * The slot of a script is moving, with some of its keys here and some there. Redis then refuses with
 * TRYAGAIN, and sends ioredis from one node to the other until that gives up.
 */
export function isMovingSlot(error: unknown): boolean {
  const refusal = messageOf(error).replace(/^Too many Cluster redirections.*ReplyError: /, '');
  return ['TRYAGAIN', 'ASK', 'MOVED'].includes(firstWord(refusal));
}

/** Redis refused a script before it ran, because of one key or temporarily. */
export function isRefusedUnrun(error: unknown): boolean {
  const words = ['NOPERM', 'CROSSSLOT', 'BUSY', 'OOM'];
  const isRefused = isReply(error) && words.includes(firstWord(messageOf(error)));
  return isRefused || isMovingSlot(error);
}

export function isNoScript(error: unknown): boolean {
  return firstWord(messageOf(error)) === 'NOSCRIPT';
}

export function isReply(error: unknown): boolean {
  return textIn(error, 'name') === 'ReplyError';
}

/**
 * Before Redis 7, a command's error in a script has its place in front, usually with a minus:
 * `ERR Error running script (call to f_…): @user_script:1: @user_script: 1: -READONLY …`.
 */
const PLACE = /^(ERR )?(Error running script \(call to f_\w+\): )?(@\w+: ?\d+: )+-?/;

/** Redis repeats the arguments of a command that it does not know. */
function messageOf(error: unknown): string {
  const message = textIn(error, 'message').replace(/,? with args beginning with.*$/s, '');
  return message.replace(PLACE, '').trimEnd();
}

/** By shape: an error of another realm is no instance of `Error` here. */
function textIn(error: unknown, property: 'name' | 'message' | 'code' | 'hostname'): string {
  if (typeof error !== 'object' || error === null) return '';
  const value: unknown = Reflect.get(error, property);
  return typeof value === 'string' ? value : '';
}

function firstWord(message: string): string {
  return /^[A-Z]+/.exec(message)?.[0] ?? '';
}

function backendError(
  { what, ...meaning }: Meaning,
  cause: Error | undefined,
  ErrorClass = LockBackendError,
): LockBackendError {
  return new ErrorClass(what, cause === undefined ? meaning : { ...meaning, cause });
}

function replyMeaning(message: string): Meaning {
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
  return LASTING('Redis answered with an error');
}

/** ioredis reports it as the answer to its first command, or as the end of the connection. */
function isCrowded(message: string): boolean {
  return message.includes('max number of clients');
}

function connectionMeaning(message: string): Meaning {
  if (isCrowded(message)) return CROWDED;
  if (message.includes('Too many Cluster redirections')) {
    return UNKNOWN('the cluster did not find the node of the lock');
  }
  if (message.includes('subscriber mode')) return SUBSCRIBED;
  return BROKEN;
}
