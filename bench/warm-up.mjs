import { inTime, now } from './clock.mjs';

const MANY = 16;
const CONTENDED = 4;
/** For those who wait when the time is over. */
const LATE_MS = 1_000;

/**
 * Gets sockets warm and code compiled: many callers with a key each, then one, then some of every
 * process with the same key. What V8 has not compiled yet is many times slower, and the longer so the
 * more code there is.
 * @param {import('./terms.mjs').Locker} locker
 */
export async function warmUp(locker, forMs) {
  if (!locker.acquire) return;
  await flows(locker, forMs / 3, MANY, (flow) => `warm:${process.pid}:${flow}`);
  await flows(locker, forMs / 3, 1, () => `warm:${process.pid}`);
  await flows(locker, forMs / 3, CONTENDED, () => 'warm');
}

/** A locker whose callers give up, or are never woken, shows it where it is looked at. */
async function flows({ acquire, permits }, forMs, count, keyOf) {
  const over = now() + forMs;
  const flow = async (_, number) => {
    const key = keyOf(number);
    await permits?.(key, 1);
    while (now() < over) await (await acquire(key))();
  };
  await inTime(Promise.allSettled(Array.from({ length: count }, flow)), forMs + LATE_MS);
}
