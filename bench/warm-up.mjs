import { inTime, now } from './clock.mjs';

const MANY = 16;
const CONTENDED = 4;
/** Whoever has not got it so long after the time was over is never woken. */
const LATE_MS = 2_000;

/**
 * Gets sockets warm and code compiled: many callers with a key each, then one, then some of every
 * process with the same key. What V8 has not compiled yet is many times slower, and the longer so the
 * more code there is.
 * @param {import('./terms.mjs').Locker} locker
 * @returns {Promise<string | undefined>} what went wrong
 */
export async function warmUp(locker, forMs) {
  if (!locker.acquire) return undefined;
  return (
    (await flows(locker, forMs / 3, MANY, (flow) => `warm:${process.pid}:${flow}`)) ??
    (await flows(locker, forMs / 3, 1, () => `warm:${process.pid}`)) ??
    (await flows(locker, forMs / 3, CONTENDED, () => 'warm'))
  );
}

async function flows({ acquire, permits }, forMs, count, keyOf) {
  const over = now() + forMs;
  const flow = async (_, number) => {
    const key = keyOf(number);
    await permits?.(key, 1);
    while (now() < over) await (await acquire(key))();
  };
  let problem;
  const done = Promise.all(Array.from({ length: count }, flow)).catch((error) => {
    problem = `while it warmed up: ${String(error?.message ?? error)}`;
  });
  const isOver = await inTime(done, forMs + LATE_MS);
  return isOver ? problem : 'while it warmed up: somebody was never woken';
}
