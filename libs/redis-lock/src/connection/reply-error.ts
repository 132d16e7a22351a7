import { LockReplicationError, quoteName } from '../core/api/errors.js';
import type { LockBackendError, LockError } from '../core/api/errors.js';
import {
  backendError,
  CROWDED,
  firstWord,
  isCrowded,
  isMovingReply,
  LASTING,
  movingError,
  PASSING,
  replyErrorOf,
  replyMeaning,
  SUBSCRIBED,
  UNKNOWN,
  wordsOf,
  type Meaning,
} from '../core/redis/reply-error.js';
import { NotSentError } from './client.js';

const BROKEN = UNKNOWN('the connection to Redis broke');

/**
 * Turns any rejection of a client into an error of this library, without the command's arguments.
 * @param mayHaveRun it was sent before, over a connection that broke. Redis may have executed then
 * what it refuses now
 */
export function lockErrorOf(error: unknown, mayHaveRun = false): LockError {
  if (error instanceof NotSentError) return noConnectionError(error.cause);
  const message = messageOf(error);
  if (isReply(error)) return replyErrorOf(message, mayHaveRun);
  // Each node has sent the client on to another one, until it gave up.
  if (isMovingSlot(error)) return movingError(message, mayHaveRun ? 'unknown' : 'none');
  return backendError(connectionMeaning(message), new Error(message));
}

/** There is no connection; `trouble` is the last error of the client. */
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
  const isLate = /ETIMEDOUT|^Connection timeout$/.test(messageOf(trouble));
  if (/^(ECONNRESET|EPROTO|ERR_SSL_.*)$/.test(code) || isLate) {
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

/** Redis has sent the client from one node to the other until that gave up, or refused by itself. */
export function isMovingSlot(error: unknown): boolean {
  return isMovingReply(
    messageOf(error).replace(/^Too many Cluster redirections.*ReplyError: /, ''),
  );
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

function messageOf(error: unknown): string {
  return wordsOf(textIn(error, 'message'));
}

/** By shape: an error of another realm is no instance of `Error` here. */
function textIn(error: unknown, property: 'name' | 'message' | 'code' | 'hostname'): string {
  if (typeof error !== 'object' || error === null) return '';
  const value: unknown = Reflect.get(error, property);
  return typeof value === 'string' ? value : '';
}

function connectionMeaning(message: string): Meaning {
  if (isCrowded(message)) return CROWDED;
  if (message.includes('Too many Cluster redirections')) {
    return UNKNOWN('the cluster did not find the node of the lock');
  }
  if (message.includes('subscriber mode')) return SUBSCRIBED;
  return BROKEN;
}
