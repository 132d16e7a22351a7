import type { LockSettings } from '../api/settings.js';
import { LAST_BACKOFF_MS } from '../time/polls.js';

/** How long the queue stands back for an outsider that received a wake-up. */
export const STAND_BACK_MS = 20;

/** Wakes outsiders that sleep until an older, longer lease ends. Redisson reads it as `0`. */
export const SHORTER = '00';

/** While outsiders were seen at a key so recently, each caller of it queues. */
const BESIDE_MS = 1_000;

/**
 * The number of sections that outsiders get after a batch: as many as it contained. 0 is never.
 */
export function dueTo({ interop }: Pick<LockSettings, 'interop'>, batchCount = 0): number {
  return interop === 'none' ? 0 : batchCount + 1;
}

/**
 * Outsiders that poll get no messages. So a process that polls as well leaves the lock free after
 * its release. It stands back for the longest pause of Redisson's spin lock.
 */
export function isAmongPolls(settings: Pick<LockSettings, 'interop' | 'wakeUp'>): boolean {
  return settings.wakeUp === 'poll' && settings.interop !== 'none';
}

/** How long a process remembers outsiders at a key. Among polls, it stands back for this time. */
export function besideMs(settings: Pick<LockSettings, 'interop' | 'wakeUp'>): number {
  return isAmongPolls(settings) ? LAST_BACKOFF_MS : BESIDE_MS;
}
