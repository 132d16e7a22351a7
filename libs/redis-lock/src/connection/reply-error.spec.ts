import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { LockBackendError, MovingSlotError } from '../core/api/errors.js';
import { NotSentError } from './client.js';
import { isOfReplica, lockErrorOf, noConnectionError } from './reply-error.js';

/** As ioredis makes them, with secrets that must not get out. */
const replyError = (message: string) =>
  Object.assign(new Error(message), {
    name: 'ReplyError',
    command: { name: 'evalsha', args: ['sha', '1', 'k', 'owner-of-the-lock', '30000'] },
  });

// test/redis/server-errors.spec.ts has the answers of real servers. This file has the rest.
describe('lockErrorOf', () => {
  const RETRY = { code: 'LOCK_BACKEND', retryable: true, outcome: 'none' };
  const UNKNOWN = { code: 'LOCK_BACKEND', retryable: true, outcome: 'unknown' };
  const GIVE_UP = { code: 'LOCK_BACKEND', retryable: false, outcome: 'none' };

  it.each([
    ['BUSY Redis is busy running a script.', RETRY],
    ['LOADING Redis is loading the dataset in memory', RETRY],
    ['MASTERDOWN Link with MASTER is down', RETRY],
    ["READONLY You can't write against a read only replica.", RETRY],
    ['NOREPLICAS Not enough good replicas to write.', RETRY],
    ['TRYAGAIN Multiple keys request during rehashing of slot', RETRY],
    ['MOVED 3999 127.0.0.1:6381', RETRY],
    ['ASK 3999 127.0.0.1:6381', RETRY],
    ['NOSCRIPT No matching script.', RETRY],
    ['CLUSTERDOWN The cluster is down', UNKNOWN],
    ['UNKILLABLE Sorry the script already executed write commands', UNKNOWN],
    ['ERR Error running script: Script killed by user with SCRIPT KILL.', UNKNOWN],
    ["OOM command not allowed when used memory > 'maxmemory'.", GIVE_UP],
    ['MISCONF Redis is configured to save RDB snapshots', GIVE_UP],
    ['NOAUTH Authentication required.', GIVE_UP],
    ['WRONGPASS invalid username-password pair or user is disabled.', GIVE_UP],
    ["NOPERM this user has no permissions to run the 'evalsha' command", GIVE_UP],
    ["ERR The user executing the script can't access at least one of the keys", GIVE_UP],
    ["ERR The user executing the script can't publish to the channel", GIVE_UP],
    ["ERR The user executing the script can't run this command or subcommand", GIVE_UP],
    ["ERR unknown command 'EVALSHA'", GIVE_UP],
    ['ERR something new', { ...GIVE_UP, message: 'Redis answered: ERR something new' }],
    ['', { ...GIVE_UP, message: 'Redis answered: an error' }],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', { code: 'LOCK_STATE' }],
    ['LOCKSTATE it holds a read-write lock', { code: 'LOCK_STATE' }],
    ['LOCKARG leaseMs is not a whole number', { code: 'LOCK_ARGUMENT' }],
    ["CROSSSLOT Keys in request don't hash to the same slot", { code: 'LOCK_KEY' }],
  ])('reads the reply %p', (message, expected) => {
    const error = lockErrorOf(replyError(message));
    expect(error).toMatchObject(expected);
    const text = inspect(error, { depth: 10, showHidden: true });
    expect(text).not.toContain('owner-of-the-lock');
    expect(text).not.toContain('args');
  });

  it.each([
    ["READONLY You can't write against a read only replica.", RETRY],
    ["OOM command not allowed when used memory > 'maxmemory'.", GIVE_UP],
    ['MISCONF Redis is configured to save RDB snapshots', GIVE_UP],
    ["The user executing the script can't run this command or subcommand", GIVE_UP],
    ["The user executing the script can't access at least one of the keys", GIVE_UP],
    ['Unknown Redis command called from Lua script', GIVE_UP],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', { code: 'LOCK_STATE' }],
    ['Script killed by user with SCRIPT KILL...', UNKNOWN],
  ])('reads %p of a command in a script, in every form of Redis 6.2', (refusal, expected) => {
    const isWord = /^(READONLY|OOM|MISCONF)/.test(refusal);
    const told = isWord ? `-${refusal}` : refusal;
    const place = `@user_script: 12: ${told}`;
    const call = `Error running script (call to f_${'0a'.repeat(20)}): @user_script:12:`;
    for (const message of [
      `ERR ${call} ${place}`,
      `ERR ${call} ${told}`,
      // As the answer of a script, and as one of several answers.
      `${place}  `,
      `ERR ${place}  `,
    ]) {
      const error = lockErrorOf(replyError(message));
      expect(error).toMatchObject(expected);
      expect((error.cause as Error).message).toBe(refusal);
    }
    expect(isOfReplica(replyError(`ERR ${place}`))).toBe(refusal.startsWith('READONLY'));
  });

  it.each([
    ...['Connection is closed.', 'Command timed out', 'Command aborted due to connection close'],
    ...['read ECONNRESET', 'connect ECONNREFUSED 127.0.0.1:6379', 'write EPIPE'],
    "Socket timeout. Expecting data, but didn't receive any in 3000ms.",
    'Reached the max retries per request limit (which is 20).',
    'Too many Cluster redirections. Last error: Error: Connection is closed.',
    'ClusterAllFailedError: Failed to refresh slots cache.',
    'Protocol error, got "x" as reply type byte.',
    "Stream isn't writeable and enableOfflineQueue options is false",
  ])('knows that after %p the outcome is unknown', (message) => {
    expect(lockErrorOf(new Error(message))).toMatchObject(UNKNOWN);
  });

  it('knows that a client has sent nothing without a connection', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(lockErrorOf(new NotSentError('no connection', { cause }), true)).toMatchObject({
      ...RETRY,
      message: 'there is no connection to Redis (ECONNREFUSED)',
    });
  });

  it.each(['TRYAGAIN x', 'ASK 1 x:1', 'MOVED 1 x:1'])(
    'knows that ioredis has sent a request from node to node, and none has run it: %s',
    (refusal) => {
      const message = `Too many Cluster redirections. Last error: ReplyError: ${refusal}`;
      const error = lockErrorOf(new Error(message));
      expect(error).toBeInstanceOf(MovingSlotError);
      const what = { message: 'the slot of the lock is moving', retryable: true, outcome: 'none' };
      expect(error).toMatchObject(what);
      expect(lockErrorOf(new Error(message), true)).toMatchObject({ outcome: 'unknown' });
    },
  );

  it.each([
    'ERR Script attempted to access a non local key in a cluster node script: 3f33, on @user_script:65.',
    'ERR Attempted to access a non local key in a cluster node script: on @user_script:66.',
    'ERR Error running script (call to f_3f33): @user_script:65: @user_script: 65: ' +
      'Lua script attempted to access a non local key in a cluster node',
  ])('knows that a script was stopped half way, as its slot is: %s', (message) => {
    const error = lockErrorOf(replyError(message));
    expect(error).toBeInstanceOf(MovingSlotError);
    expect(error).toMatchObject({ ...UNKNOWN, message: 'the slot of the lock is moving' });
  });

  it('knows that the outcome is unknown of a request that was refused the second time', () => {
    for (const message of ['READONLY x', 'OOM x', 'NOPERM x', 'ERR x']) {
      const error = lockErrorOf(replyError(message), true);
      expect(error).toMatchObject({ outcome: 'unknown' });
    }
    expect(lockErrorOf(replyError('READONLY x'), true)).toMatchObject({ retryable: true });
    expect(lockErrorOf(replyError('OOM x'), true)).toMatchObject({ retryable: false });
  });

  it.each([undefined, null, 'text', 5, {}, { message: 5 }])(
    'makes an error even of %p',
    (thrown) => {
      expect(lockErrorOf(thrown)).toBeInstanceOf(LockBackendError);
    },
  );

  it('leaves the arguments out that Redis repeats in its text', () => {
    const message =
      "ERR unknown command 'EVALSHA', with args beginning with: 'sha' '1' 'k' 'owner'";
    const error = lockErrorOf(replyError(message));
    expect((error.cause as Error).message).toBe("ERR unknown command 'EVALSHA'");
  });
});

describe('noConnectionError', () => {
  it('says why there is none, where ioredis knows', () => {
    expect(noConnectionError(undefined)).toMatchObject({ retryable: true, outcome: 'none' });
    const refused = noConnectionError(new Error('connect ECONNREFUSED 127.0.0.1:6379'));
    expect(refused).toMatchObject({ retryable: true, outcome: 'none' });
    expect((refused.cause as Error).message).toContain('ECONNREFUSED');
    expect(refused.message).toBe('there is no connection to Redis');
    const socket = (code: string, details: object = {}) =>
      noConnectionError(Object.assign(new Error(`connect ${code}`), { code, ...details })).message;
    expect(socket('ECONNREFUSED')).toBe('there is no connection to Redis (ECONNREFUSED)');
    expect(socket('ENOTFOUND', { hostname: 'rdis' })).toBe(
      'there is no connection to Redis: the host "rdis" is unknown (ENOTFOUND)',
    );
    for (const code of ['ECONNRESET', 'ETIMEDOUT', 'ERR_SSL_WRONG_VERSION_NUMBER']) {
      expect(socket(code)).toContain(`(${code}); if it persists, check whether only one side`);
    }
    // As node-redis words it.
    expect(noConnectionError(new Error('Connection timeout')).message).toContain('(ETIMEDOUT); if');
    const wrong = noConnectionError(replyError('WRONGPASS invalid username-password pair'));
    expect(wrong).toMatchObject({ retryable: false, outcome: 'none' });
    expect(wrong.message).toBe('there is no connection to Redis: Redis refused the password');
    const loading = noConnectionError(replyError('LOADING Redis is loading the dataset'));
    expect(loading).toMatchObject({ retryable: true, outcome: 'none' });
  });
});
