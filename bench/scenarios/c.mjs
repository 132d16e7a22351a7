// Many callers of one process on one key, with an empty section.
import { driveLoop, driveWaves } from '../contended.mjs';
import { ALL } from '../lockers/who.mjs';

export { actions } from '../contended.mjs';

export const title = 'C. Callers of one process, one key, empty section';
export const lockers = ALL;

const COST = ['commandsPerOp', 'callsPerOp', 'redisUsPerOp', 'clientUsPerOp'];
const COLUMNS = ['servedPct', 'overtakenPct', 'longestWaitMs', 'waitRatio', ...COST, 'overlaps'];

const wave = (callers) => ({
  id: `C ${callers}`,
  title: `${callers} callers, waves`,
  cores: 'split',
  headline: 'opsPerS',
  columns: COLUMNS,
  callers,
});

export const trials = [
  wave(100),
  wave(1_000),
  {
    id: 'C loop',
    title: '100 callers, loop',
    cores: 'split',
    headline: 'opsPerS',
    columns: [
      'neverPct',
      'overtakenPct',
      'busiestPct',
      'waitMs',
      'longestWaitMs',
      'waitRatio',
      ...COST,
      'overlaps',
    ],
    callers: 100,
    forMs: 600,
  },
];

export const drive = (crew, trial, { pace }) =>
  trial.forMs ? driveLoop(crew, trial, pace) : driveWaves(crew, trial, pace);
