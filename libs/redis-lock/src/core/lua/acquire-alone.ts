import { LockBackendError } from '../api/errors.js';
import type { AcquireAnswer, AcquireTerms, HoldProtocol, Owned } from '../holding/protocol.js';
import type { RedisConnection, Reply } from '../redis/connection.js';
import type { MovingSlots } from '../redis/moving-slots.js';
import { asUnknown } from '../redis/retry.js';
import { defineScript } from '../redis/script.js';
import { fencedAnswer } from './answers.js';
import { runPair, takeToken, tokenKey } from './fencing-token.js';
import { ACQUIRE, ACQUIRE_NESTED, renewHashes } from './hash-lock.js';

/** Takes a token for an owner that holds the lock already. */
export const TAKE_TOKEN = defineScript({
  name: 'fencing-token.take',
  keys: ['token'],
  args: ['tokenTtlMs'],
  numbers: ['tokenTtlMs'],
  body: `${takeToken('true')}
return fence`,
  reply: fencedAnswer,
});

/** One acquisition of a lock that is one hash. `protocol` releases it again. */
export interface Acquiring {
  readonly protocol: Pick<HoldProtocol, 'release'>;
  readonly hold: Owned;
  /** The field of the owner. */
  readonly field: string;
  readonly terms: AcquireTerms;
  readonly holdCount: number;
  readonly tokenTtlMs: number;
}

/** Acquires once more for an owner that holds the lock. */
export function acquireNested(
  connection: RedisConnection,
  slots: MovingSlots,
  acquiring: Acquiring,
): Promise<Reply<AcquireAnswer>> {
  const { hold, field, terms, holdCount, tokenTtlMs } = acquiring;
  const { key } = hold;
  const args = [field, holdCount, terms.leaseTimeMs];
  const nest = () => connection.run(ACQUIRE_NESTED, [key], args, terms.minReplicas);
  if (!terms.fenced) return nest();
  return slots.ask(
    key,
    () => runPair(connection, ACQUIRE_NESTED, [key], args, terms, tokenTtlMs),
    () => acquireThenToken(connection, acquiring, nest),
  );
}

/** Acquires a lock or a fair lock whose slot is on its way, without a look at the queue. */
export function acquireHashAlone(
  connection: RedisConnection,
  acquiring: Acquiring,
): Promise<Reply<AcquireAnswer>> {
  const { hold, terms } = acquiring;
  const args = [hold.owner, terms.leaseTimeMs];
  const acquire = () => connection.run(ACQUIRE, [hold.key], args, terms.minReplicas);
  return terms.fenced ? acquireThenToken(connection, acquiring, acquire) : acquire();
}

/** Takes the lock first, then the token: they may be on different nodes. */
export async function acquireThenToken(
  connection: RedisConnection,
  acquiring: Acquiring,
  acquire: () => Promise<Reply<AcquireAnswer>>,
): Promise<Reply<AcquireAnswer>> {
  const acquired = await acquire();
  if (acquired.value.kind !== 'granted') return acquired;
  try {
    return await withToken(connection, acquiring, acquired);
  } catch (error) {
    // The owner holds the lock by now: the caller releases it, or asks again.
    if (error instanceof LockBackendError) throw asUnknown(error);
    const { protocol, hold, holdCount } = acquiring;
    await protocol.release(hold, holdCount - 1).catch(() => undefined);
    throw error;
  }
}

async function withToken(
  connection: RedisConnection,
  { hold: { key }, field, terms, holdCount, tokenTtlMs }: Acquiring,
  { sentAt, resent }: Reply<AcquireAnswer>,
): Promise<Reply<AcquireAnswer>> {
  const { minReplicas, leaseTimeMs: renewMs } = terms;
  const taken = await connection.run(TAKE_TOKEN, [tokenKey(key)], [tokenTtlMs], minReplicas);
  // Another owner may have got a smaller token since, if the lease had expired before.
  const renewed = await renewHashes(connection, [{ key, owner: field, renewMs }], minReplicas);
  const wasResent = resent || taken.resent || renewed.resent;
  if (renewed.value[0] === true) return { value: taken.value, sentAt, resent: wasResent };
  const value: AcquireAnswer = holdCount > 1 ? { kind: 'lost' } : { kind: 'busy', remainingMs: 0 };
  return { value, sentAt, resent: wasResent };
}
