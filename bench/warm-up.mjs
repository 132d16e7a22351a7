import { now } from './clock.mjs';

const MANY = 16;
const CONTENDED = 2;

/**
 * Gets sockets warm and code compiled: many callers with a key each, then one, then two with the same
 * key. What V8 has not compiled yet is many times slower, and the longer so the more code there is.
 * @param {import('./terms.mjs').Locker} locker
 */
export async function warmUp(locker, forMs) {
  if (!locker.acquire) return;
  await flows(locker, forMs / 3, MANY, (flow) => `warm:${process.pid}:${flow}`);
  await flows(locker, forMs / 3, 1, () => `warm:${process.pid}`);
  await flows(locker, forMs / 3, CONTENDED, () => `warm:${process.pid}:all`);
}

async function flows({ acquire, permits }, forMs, count, keyOf) {
  const over = now() + forMs;
  const flow = async (_, number) => {
    const key = keyOf(number);
    await permits?.(key, 1);
    while (now() < over) await (await acquire(key))();
  };
  await Promise.all(Array.from({ length: count }, flow));
}
