/** Without messages, polls become rarer from the first to the second, or to the poll interval. */
export const FIRST_BACKOFF_MS = 2;
export const LAST_BACKOFF_MS = 128;
/** How long a waiter that does not ask any more is believed to wait, at least. */
const ALIVE_MS = 5_000;
/** A waiter of which every third poll gets through is believed to wait. */
const POLLS_WHILE_ALIVE = 3;

/** How long Redis takes a process for alive that polls at this interval. */
export function aliveMs(pollIntervalMs: number): number {
  return Math.max(ALIVE_MS, POLLS_WHILE_ALIVE * pollIntervalMs);
}

/** Downwards, so that processes do not ask in step and no poll comes later than was said. */
export function jittered(delayMs: number): number {
  return delayMs * (0.8 + Math.random() * 0.2);
}
