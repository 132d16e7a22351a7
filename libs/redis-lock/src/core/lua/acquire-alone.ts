import { LockBackendError } from '../api/errors.js';
import { takeToken, tokenKey } from './fencing-token.js';
import { ACQUIRE, fencedAnswer, renewHashes } from './hash-lock.js';
import type { AcquireAnswer, AcquireRequest, OwnerId } from '../holding/protocol.js';
import type { RedisConnection, Reply } from '../redis/connection.js';
import { defineScript } from '../redis/script.js';
import { asUnknown } from '../redis/retry.js';

/** A token for whoever holds the lock already. */
export const TAKE_TOKEN = defineScript({
  name: 'fencing-token.take',
  keys: ['token'],
  args: ['tokenTtlMs'],
  numbers: ['tokenTtlMs'],
  body: `${takeToken('true')}
return fence`,
  reply: fencedAnswer,
});

/** How a lock of one hash is entered and left by scripts of its key alone, for a token besides. */
interface Alone {
  readonly key: string;
  /** The field of the owner. */
  readonly field: string;
  readonly request: AcquireRequest;
  readonly tokenTtlMs: number;
  enter(): Promise<Reply<AcquireAnswer>>;
  leave(holdCount: number): Promise<unknown>;
}

/** Enters a lock or a fair lock whose slot is on its way, without a look at those who wait. */
export function acquireHashAlone(
  connection: RedisConnection,
  owner: OwnerId,
  alone: Omit<Alone, 'field' | 'enter'>,
): Promise<Reply<AcquireAnswer>> {
  const { key, request } = alone;
  const { holdCount, leaseTimeMs: leaseMs, minReplicas } = request;
  const enter = () =>
    connection.run(ACQUIRE, { lock: key }, { owner, holdCount, leaseMs }, minReplicas);
  return request.fenced ? acquireFenced(connection, { ...alone, field: owner, enter }) : enter();
}

/** The lock first and then the token, which is on another node perhaps. */
export async function acquireFenced(
  connection: RedisConnection,
  alone: Alone,
): Promise<Reply<AcquireAnswer>> {
  const entered = await alone.enter();
  if (entered.value.kind !== 'granted') return entered;
  const { holdCount } = alone.request;
  try {
    return await withToken(connection, alone, entered);
  } catch (error) {
    // It has the lock: who asked for it gives it back, or asks again.
    if (error instanceof LockBackendError) throw asUnknown(error);
    await alone.leave(holdCount - 1).catch(() => undefined);
    throw error;
  }
}

async function withToken(
  connection: RedisConnection,
  { key, field, request, tokenTtlMs }: Alone,
  { sentAt, resent }: Reply<AcquireAnswer>,
): Promise<Reply<AcquireAnswer>> {
  const { minReplicas, holdCount, leaseTimeMs } = request;
  const keys = { token: tokenKey(key) };
  const taken = await connection.run(TAKE_TOKEN, keys, { tokenTtlMs }, minReplicas);
  // Somebody else may have got a smaller one since, if the lock was lost before.
  const renewal = { key, owner: field, leaseTimeMs };
  const renewed = await renewHashes(connection, [renewal], minReplicas);
  const wasResent = resent || taken.resent || renewed.resent;
  if (renewed.value[0] === true) return { value: taken.value, sentAt, resent: wasResent };
  const value: AcquireAnswer = holdCount > 1 ? { kind: 'lost' } : { kind: 'busy', remainingMs: 0 };
  return { value, sentAt, resent: wasResent };
}
