import type { LockSettings } from '../api/settings.js';
import { LAST_BACKOFF_MS } from '../time/polls.js';

/** How long the queue stands back for an outsider that received a wake-up or has held the lock. */
export const STAND_BACK_MS = 20;

/** Wakes outsiders that sleep until an older, longer lease ends. Redisson reads it as `0`. */
export const SHORTER = '00';

/** The interval (ms) in which listening outsiders get at least one window. 0 is never. */
export function openEveryMs({ interop }: Pick<LockSettings, 'interop'>): number {
  return { auto: 1_000, redisson: 1, none: 0 }[interop];
}

/**
 * Outsiders that poll get no messages. So a process that polls as well leaves the lock free after
 * its release. It stands back for the longest pause of Redisson's spin lock.
 */
export function isAmongPolls(settings: Pick<LockSettings, 'interop' | 'wakeUp'>): boolean {
  return settings.wakeUp === 'poll' && openEveryMs(settings) > 0;
}

export function standBackMs(settings: Pick<LockSettings, 'interop' | 'wakeUp'>): number {
  return isAmongPolls(settings) ? LAST_BACKOFF_MS : STAND_BACK_MS;
}
