// A semaphore with fewer permits than takers.
import { driveWaves } from '../contended.mjs';

export { actions } from '../contended.mjs';

export const title = 'Semaphore: 100 takers, 5 permits, waves';
export const lockers = ['ours:permits', 'raw-permits', 'redis-semaphore-permits'];

const COMMON = {
  cores: 'split',
  headline: 'opsPerS',
  columns: [
    ...['servedPct', 'longestWaitMs'],
    ...['commandsPerOp', 'callsPerOp', 'redisUsPerOp', 'clientUsPerOp', 'overlaps'],
  ],
  callers: 100,
  permits: 5,
};

export const trials = [
  { ...COMMON, id: 'semaphore', title: 'empty section' },
  { ...COMMON, id: 'semaphore 1 ms', title: '1 ms section', sectionMs: 1 },
];

export const drive = (crew, trial, { pace }) => driveWaves(crew, trial, pace);
