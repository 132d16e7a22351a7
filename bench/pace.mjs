/**
 * The durations of a run.
 * @typedef {object} Pace
 * @property {number} rounds
 * @property {number} share the part of each window that is used
 * @property {number} [warmUpMs] default: until the rate stops rising
 * @property {number} longestWarmUpMs
 * @property {number} wavesMs no wave begins after this time
 * @property {number} locks the number of locks that F holds
 */

/** @type {Pace} */
export const FULL = { rounds: 5, share: 1, longestWarmUpMs: 30_000, wavesMs: 300, locks: 10_000 };
/** Only to check that everything works. */
export const QUICK = { ...FULL, rounds: 1, share: 0.25, warmUpMs: 90, wavesMs: 0, locks: 2_000 };
