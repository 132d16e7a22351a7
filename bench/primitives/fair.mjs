// A fair lock: callers get it in the order of their calls. No library among the peers has one.
import { driveWaves } from '../contended.mjs';

export { actions } from '../contended.mjs';

export const title = 'Fair lock, empty section, waves';
export const lockers = ['ours:fair', 'raw-fair'];

const COMMON = {
  cores: 'split',
  headline: 'opsPerS',
  columns: [
    ...['servedPct', 'overtakenPct', 'longestWaitMs'],
    ...['commandsPerOp', 'callsPerOp', 'redisUsPerOp', 'clientUsPerOp', 'overlaps'],
  ],
};

export const trials = [
  { ...COMMON, id: 'fair', title: '100 waiters in one process', callers: 100 },
  { ...COMMON, id: 'fair 4', title: '4 processes × 25 waiters', callers: 25, processes: 4 },
];

export const drive = (crew, trial, { pace }) => driveWaves(crew, trial, pace);
