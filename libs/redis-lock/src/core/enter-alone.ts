import { LockBackendError } from './errors.js';
import { takeToken, tokenKey } from './fencing-token.js';
import { ENTER, fencedAnswer, renewHashes } from './hash-lock.js';
import type { EnterAnswer, EnterRequest, OwnerId } from './hold-protocol.js';
import type { RedisConnection, Reply } from './redis-connection.js';
import { defineScript } from './script.js';
import { asUnknown } from './until-answered.js';

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
  readonly request: EnterRequest;
  readonly tokenTtlMs: number;
  enter(): Promise<Reply<EnterAnswer>>;
  leave(holdCount: number): Promise<unknown>;
}

/** Enters a lock or a fair lock whose slot is on its way, without a look at those who wait. */
export function enterHashAlone(
  connection: RedisConnection,
  owner: OwnerId,
  alone: Omit<Alone, 'field' | 'enter'>,
): Promise<Reply<EnterAnswer>> {
  const { key, request } = alone;
  const { holdCount, leaseTimeMs: leaseMs, minReplicas } = request;
  const enter = () =>
    connection.run(ENTER, { lock: key }, { owner, holdCount, leaseMs }, minReplicas);
  return request.fenced ? enterFenced(connection, { ...alone, field: owner, enter }) : enter();
}

/** The lock first and then the token, which is on another node perhaps. */
export async function enterFenced(
  connection: RedisConnection,
  alone: Alone,
): Promise<Reply<EnterAnswer>> {
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
  { sentAt, resent }: Reply<EnterAnswer>,
): Promise<Reply<EnterAnswer>> {
  const { minReplicas, holdCount, leaseTimeMs } = request;
  const keys = { token: tokenKey(key) };
  const taken = await connection.run(TAKE_TOKEN, keys, { tokenTtlMs }, minReplicas);
  // Somebody else may have got a smaller one since, if the lock was lost before.
  const renewal = { key, owner: field, leaseTimeMs };
  const renewed = await renewHashes(connection, [renewal], minReplicas);
  const wasResent = resent || taken.resent || renewed.resent;
  if (renewed.value[0] === true) return { value: taken.value, sentAt, resent: wasResent };
  const value: EnterAnswer = holdCount > 1 ? { kind: 'lost' } : { kind: 'busy', remainingMs: 0 };
  return { value, sentAt, resent: wasResent };
}
