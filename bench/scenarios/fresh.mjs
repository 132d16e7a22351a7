// A process that has just started, and a process whose code V8 does not optimise.
import { actions as contended, costMeasures, driveLoop } from '../contended.mjs';
import { actions as cycles, measureCycles } from '../cycles.mjs';
import { now } from '../clock.mjs';
import { ALL } from '../lockers/who.mjs';

export const title = 'Fresh processes';
export const lockers = ALL;
export const state = 'fresh';

const OPS = 1_000;
const LOOP_MS = 10_000;
const WINDOW_MS = 2_000;

const COST = ['commandsPerOp', 'redisUsPerOp', 'clientUsPerOp'];

/** Code that V8 does not optimise gets no faster after this time. */
const NOT_OPTIMISED = {
  ...{ cores: 'split', nodeArgs: ['--no-opt', '--no-maglev'], warmUpMs: 1_000 },
  ...{ headline: 'clientUsPerOp', columns: ['opsPerS', 'p50Us', 'commandsPerOp', 'redisUsPerOp'] },
};

export const trials = [
  {
    ...{ id: 'first 1000', title: 'the first 1,000 of one caller with a free key', cores: 'split' },
    ...{ warmUpMs: 0, headline: 'firstMs', columns: COST },
  },
  {
    ...{ id: 'first 10 s', title: 'the first 10 s of 4 processes × 25 callers, one key' },
    ...{ warmUpMs: 0, cores: 'split', processes: 4, callers: 25, forMs: LOOP_MS },
    ...{ headline: 'opsPerS', columns: ['neverPct', 'waitRatio', ...COST, 'overlaps'] },
  },
  { ...NOT_OPTIMISED, id: 'no opt 1', title: 'not optimised, one caller, one free key', flows: 1 },
  { ...NOT_OPTIMISED, id: 'no opt 64', title: 'not optimised, 64 callers, 64 keys', flows: 64 },
];

export const actions = { ...contended, ...cycles, first };

async function first({ acquire }) {
  const startedAt = now();
  for (let i = 0; i < OPS; i++) await (await acquire('own'))();
  return now() - startedAt;
}

export async function drive(crew, trial, { pace }) {
  if (trial.flows)
    return measureCycles(crew, { flows: trial.flows, forMs: WINDOW_MS * pace.share });
  if (trial.callers) return driveLoop(crew, trial, pace);
  const { result, cost } = await crew.measured(() => crew.one(0, 'first'));
  return { firstMs: result, ...costMeasures(cost, OPS) };
}
