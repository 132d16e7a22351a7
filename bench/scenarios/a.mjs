// One caller acquires and releases one free key.
import { measureCycles } from '../cycles.mjs';
import { ALL } from '../lockers/who.mjs';

export { actions } from '../cycles.mjs';

export const title = 'A. One caller, one free key';
export const lockers = ALL;

const COLUMNS = ['p99Us', 'readsPerOp', 'commandsPerOp', 'redisUsPerOp', 'clientUsPerOp'];

export const trials = [
  {
    id: 'A same core',
    title: 'same core',
    cores: 'same core',
    headline: 'opsPerS',
    columns: ['p50Us', ...COLUMNS],
  },
  { id: 'A split', title: 'split', cores: 'split', headline: 'p50Us', columns: COLUMNS },
];

const WINDOW_MS = 500;

export const drive = (crew, _trial, { pace }) =>
  measureCycles(crew, { flows: 1, forMs: WINDOW_MS * pace.share });
