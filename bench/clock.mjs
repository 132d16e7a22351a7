import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds of the machine's monotonic clock: the same for all processes. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

/** @param {number} instant */
export async function until(instant) {
  const ms = instant - now();
  if (ms > 0) await sleep(ms);
}

/**
 * Waits for the work, but no longer than `ms`.
 * @param {Promise<unknown>} work
 * @param {number} ms
 * @returns {Promise<boolean>} whether the work was done in time
 */
export async function inTime(work, ms) {
  const timer = new AbortController();
  const late = sleep(ms, false, { signal: timer.signal });
  late.catch(() => undefined);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    timer.abort();
  }
}
