/**
 * How long things are looked at.
 * @typedef {object} Pace
 * @property {number} rounds
 * @property {number} share of every window
 * @property {number} [warmUpMs] without it until the rate has stopped rising
 * @property {number} longestWarmUpMs
 * @property {number} wavesMs for how long further waves begin
 * @property {number} locks how many F holds
 */

/** @type {Pace} */
export const FULL = { rounds: 5, share: 1, longestWarmUpMs: 30_000, wavesMs: 300, locks: 10_000 };
/** Only to see that everything works. */
export const QUICK = { ...FULL, rounds: 1, share: 0.25, warmUpMs: 90, wavesMs: 0, locks: 2_000 };
