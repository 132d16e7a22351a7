// The time in which a lock moves from one process to another.
import { ALL } from '../lockers/who.mjs';

export { actions, drive } from '../hand-off.mjs';

export const title = 'E. Hand-off between two processes';
export const lockers = ALL;

const COMMON = {
  processes: 2,
  headline: 'p50Us',
  columns: ['p90Us', 'longestUs', 'late', 'missed', 'commandsPerOp', 'callsPerOp'],
};

export const trials = [
  { ...COMMON, id: 'E split', title: 'split', cores: 'split' },
  { ...COMMON, id: 'E same core', title: 'same core', cores: 'same core' },
];
