// How long a latch takes from the last count-down in one process to a waiter in another.
export { actions, drive } from '../hand-off.mjs';

export const title = 'Count-down latch: wake-up in another process';
export const lockers = ['ours:latch', 'bare-publish'];

const COMMON = {
  processes: 2,
  headline: 'p50Us',
  columns: ['p90Us', 'longestUs', 'late', 'missed', 'commandsPerOp', 'callsPerOp'],
};

export const trials = [
  { ...COMMON, id: 'latch', title: 'split', cores: 'split' },
  { ...COMMON, id: 'latch same core', title: 'same core', cores: 'same core' },
];
