import { inTime, now } from './clock.mjs';

const MANY = 16;
const CONTENDED = 4;
/** A caller that has not acquired then never gets a wake-up. A busy machine delays one by seconds. */
const LATE_MS = 10_000;

/**
 * Warms up sockets and compiles code. Many callers with a key each come first, then one caller. Then
 * some callers of each process use the same key. V8 runs code many times slower before it compiles it.
 * More code takes longer to compile.
 * @param {import('./terms.mjs').Locker} locker
 * @returns {Promise<{ ops: number, cpuUs: number, problem?: string }[]>} the figures of each kind of
 * load, and its problem
 */
export async function warmUp(locker, forMs) {
  if (!locker.acquire) return [];
  return [
    await flows(locker, forMs / 3, MANY, (flow) => `warm:${process.pid}:${flow}`),
    await flows(locker, forMs / 3, 1, () => `warm:${process.pid}`),
    await flows(locker, forMs / 3, CONTENDED, () => 'warm'),
  ];
}

async function flows({ acquire, permits }, forMs, count, keyOf) {
  const cpu = process.cpuUsage();
  const over = now() + forMs;
  let ops = 0;
  const flow = async (_, number) => {
    const key = keyOf(number);
    await permits?.(key, 1);
    for (; now() < over; ops++) await (await acquire(key))();
  };
  let problem;
  const done = Promise.all(Array.from({ length: count }, flow)).catch((error) => {
    problem = `while it warmed up: ${String(error?.message ?? error)}`;
  });
  const isOver = await inTime(done, forMs + LATE_MS);
  if (!isOver) problem = 'while it warmed up: a waiter was never woken';
  const { user, system } = process.cpuUsage(cpu);
  return { ops, cpuUs: user + system, problem };
}
