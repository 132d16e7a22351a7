/**
 * How long things are looked at.
 * @typedef {object} Pace
 * @property {number} rounds
 * @property {number} share of every window
 * @property {number} warmUpMs
 * @property {number} wavesMs for how long further waves begin
 * @property {number} locks how many F holds
 * @property {boolean} sharesProcesses whether processes go on from one trial to the next
 */

/** @type {Pace} */
export const FULL = {
  ...{ rounds: 5, share: 1, warmUpMs: 3_000, wavesMs: 300, locks: 10_000 },
  sharesProcesses: false,
};
/** Only to see that everything works. */
export const QUICK = {
  ...{ rounds: 1, share: 0.25, warmUpMs: 90, wavesMs: 0, locks: 2_000 },
  sharesProcesses: true,
};
