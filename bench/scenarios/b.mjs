// 64 callers of one process, each with its own free key.
import { measureCycles } from '../cycles.mjs';
import { ALL } from '../lockers/who.mjs';

export { actions } from '../cycles.mjs';

export const title = 'B. 64 callers, 64 free keys';
export const lockers = ALL;

export const trials = [
  {
    id: 'B',
    title: 'one process',
    cores: 'split',
    headline: 'opsPerS',
    columns: ['p50Us', 'p99Us', 'readsPerOp', 'commandsPerOp', 'redisUsPerOp', 'clientUsPerOp'],
  },
];

const FLOWS = 64;
const WINDOW_MS = 600;

export const drive = (crew, _trial, { pace }) =>
  measureCycles(crew, { flows: FLOWS, forMs: WINDOW_MS * pace.share });
