// Readers of a read-write lock, who do not keep each other out. No library among the peers has one.
import { driveLoop } from '../contended.mjs';

export { actions } from '../contended.mjs';

export const title = 'Readers in parallel, one key';
export const lockers = ['ours:readers', 'raw-readers'];

export const trials = [
  {
    id: 'readers',
    title: '64 callers of one process, loop',
    cores: 'split',
    headline: 'opsPerS',
    columns: [
      'waitMs',
      'longestWaitMs',
      'commandsPerOp',
      'callsPerOp',
      'redisUsPerOp',
      'clientUsPerOp',
    ],
    callers: 64,
    forMs: 600,
    permits: Infinity,
  },
];

export const drive = (crew, trial, { pace }) => driveLoop(crew, trial, pace);
