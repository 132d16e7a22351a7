import { beforeEach } from '@jest/globals';
import type { Redis } from 'ioredis';

/** A step ran between these two, in ms by the clock of the server. */
interface Moment {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** TIME and PTTL cut off what is below one millisecond. */
const CUT_MS = 2;

let moments: Moment[] = [];
beforeEach(() => {
  moments = [];
});

/** The server's time in ms. A spec that writes it into a key has taken its step at this moment. */
export async function serverNow(redis: Redis): Promise<number> {
  const [seconds = NaN, micros = NaN] = (await redis.time()).map(Number);
  const now = seconds * 1_000 + Math.floor(micros / 1_000);
  moments.push({ fromMs: now, untilMs: now });
  return now;
}

/**
 * Takes a step that writes times, and notes when. The connection sends all three at once: a machine that
 * stands still comes before or after them. A user without the right to TIME has no clock, NaN.
 */
export async function timed<T>(redis: Redis, step: () => Promise<T>): Promise<T> {
  const none = () => NaN;
  const before = serverNow(redis).catch(none);
  const taken = step();
  const after = serverNow(redis).catch(none);
  const [fromMs, untilMs] = await Promise.all([before, after, taken.catch(none)]);
  moments.push({ fromMs, untilMs });
  return taken;
}

/**
 * The whole seconds for which a timed step wrote this end, however long ago that was. Without such a step:
 * the seconds begun that are left.
 */
export function secondsUntil(endMs: number, nowMs: number): number {
  for (const { fromMs, untilMs } of moments) {
    const seconds = Math.floor((endMs - fromMs + CUT_MS) / 1_000);
    if (seconds * 1_000 >= endMs - untilMs - CUT_MS) return seconds;
  }
  return Math.ceil((endMs - nowMs) / 1_000);
}

/** The same for the end of a key. */
export async function secondsOf(redis: Redis, key: string): Promise<number> {
  const [nowMs, leftMs] = await Promise.all([serverNow(redis), redis.pttl(key)]);
  return leftMs < 0 ? -0 : secondsUntil(nowMs + leftMs, nowMs);
}
