// Callers of several processes on one key.
import { driveLoop, driveWaves } from '../contended.mjs';
import { ALL } from '../lockers/who.mjs';

export { actions } from '../contended.mjs';

export const title = 'D. 4 processes × 25 callers, one key';
export const lockers = ALL;

const COST = ['commandsPerOp', 'callsPerOp', 'redisUsPerOp', 'clientUsPerOp'];
const COMMON = { cores: 'split', headline: 'opsPerS', processes: 4, callers: 25 };
const COLUMNS = ['servedPct', 'overtakenPct', 'longestWaitMs', 'waitRatio', ...COST, 'overlaps'];

export const trials = [
  { ...COMMON, id: 'D empty', title: 'empty section, waves', columns: COLUMNS },
  { ...COMMON, id: 'D 1 ms', title: '1 ms section, waves', columns: COLUMNS, sectionMs: 1 },
  {
    ...COMMON,
    id: 'D loop',
    title: '1 ms section, loop',
    columns: [
      'neverPct',
      'overtakenPct',
      'processRatio',
      'waitMs',
      'longestWaitMs',
      'waitRatio',
      ...COST,
      'overlaps',
    ],
    sectionMs: 1,
    forMs: 800,
  },
];

export const drive = (crew, trial, { pace }) =>
  trial.forMs ? driveLoop(crew, trial, pace) : driveWaves(crew, trial, pace);
