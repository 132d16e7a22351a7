import {
  LockArgumentError,
  LockBackendError,
  LockKeyError,
  LockStateError,
  type BackendOutcome,
  type LockError,
} from '../core/errors.js';

interface Meaning {
  readonly retryable: boolean;
  readonly outcome: BackendOutcome;
  readonly what: string;
}

const PASSING = (what: string): Meaning => ({ retryable: true, outcome: 'none', what });
const LASTING = (what: string): Meaning => ({ retryable: false, outcome: 'none', what });
const UNKNOWN = (what: string): Meaning => ({ retryable: true, outcome: 'unknown', what });

/** What the first word of an error reply means. The server refused: nothing has happened. */
const REPLIES: Readonly<Record<string, Meaning>> = {
  BUSY: PASSING('Redis is busy with a script'),
  LOADING: PASSING('Redis is loading its data'),
  MASTERDOWN: PASSING('the replica has lost its master'),
  READONLY: PASSING('the server is a replica now'),
  NOREPLICAS: PASSING('Redis has too few replicas to accept writes'),
  TRYAGAIN: PASSING('the slot of the lock is moving'),
  MOVED: PASSING('the slot of the lock has moved'),
  ASK: PASSING('the slot of the lock is moving'),
  CLUSTERDOWN: UNKNOWN('the cluster is down'),
  OOM: LASTING('Redis has no memory left'),
  MISCONF: LASTING('Redis refuses writes because it cannot save them'),
  NOAUTH: LASTING('Redis wants a password'),
  WRONGPASS: LASTING('Redis refused the password'),
  NOPERM: LASTING('the Redis user lacks a permission'),
  NOSCRIPT: PASSING('Redis has forgotten the script'),
  UNKILLABLE: UNKNOWN('the script was stopped'),
};

/** Turns whatever ioredis rejected with into one of our errors, without the command's arguments. */
export function lockErrorOf(error: unknown): LockError {
  const message = error instanceof Object && 'message' in error ? String(error.message) : '';
  const isReply = error instanceof Object && 'name' in error && error.name === 'ReplyError';
  const cause = new Error(message);
  if (!isReply) return backendError(connectionMeaning(message), cause);

  const word = /^[A-Z]+/.exec(message)?.[0] ?? '';
  if (word === 'WRONGTYPE') {
    return new LockStateError('The key holds something that is no lock', { cause });
  }
  if (word === 'LOCKSTATE') {
    return new LockStateError(`The key cannot be locked: ${message.slice(10)}`, { cause });
  }
  if (word === 'LOCKARG') {
    return new LockArgumentError(`Redis refused an argument: ${message.slice(8)}`, { cause });
  }
  if (word === 'CROSSSLOT') {
    return new LockKeyError('The keys of the lock are in different slots of the cluster', {
      cause,
    });
  }
  return backendError(REPLIES[word] ?? scriptMeaning(message), cause);
}

function backendError({ what, ...meaning }: Meaning, cause: Error): LockBackendError {
  return new LockBackendError(what, { ...meaning, cause });
}

/** Scripts wrap the errors of their commands in texts of their own. */
function scriptMeaning(message: string): Meaning {
  if (/can't access|can't run|can't publish|No permission/i.test(message)) {
    return LASTING('the Redis user lacks a permission');
  }
  if (/killed by user/i.test(message)) return UNKNOWN('the script was stopped');
  return LASTING('Redis answered with an error');
}

function connectionMeaning(message: string): Meaning {
  if (message.includes('max number of clients')) return PASSING('Redis accepts no more clients');
  if (message.includes('Too many Cluster redirections')) {
    return UNKNOWN('the cluster did not find the node of the lock');
  }
  return UNKNOWN('the connection to Redis broke');
}
