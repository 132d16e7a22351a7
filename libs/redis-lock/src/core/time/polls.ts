import type { Random } from './random.js';

/**
 * Without messages, the pause between polls grows from 2 ms to the second value, or to the poll
 * interval.
 */
export const FIRST_BACKOFF_MS = 2;
export const LAST_BACKOFF_MS = 128;
/** The shortest time for which a silent process counts as alive. */
const ALIVE_MS = 5_000;
/** A process counts as alive while every third poll succeeds. */
const POLLS_WHILE_ALIVE = 3;

/** How long Redis considers a process alive that polls at this interval. */
export function aliveMs(pollIntervalMs: number): number {
  return Math.max(ALIVE_MS, POLLS_WHILE_ALIVE * pollIntervalMs);
}

/** Only shorter: processes do not poll at the same moment, and no poll is late. */
export function jittered(delayMs: number, random: Random): number {
  return delayMs * (0.8 + random.number() * 0.2);
}
