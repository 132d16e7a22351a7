// Promises, timers and garbage of one acquisition and its release, including those of the Redis client.
import { createHook } from 'node:async_hooks';
import { ALL } from '../lockers/who.mjs';
import { median } from '../statistics.mjs';

export const title = 'Footprint';
export const lockers = ALL;
export const state = 'per operation';

export const trials = [
  {
    id: 'footprint',
    title: 'one caller, one free key',
    cores: 'split',
    // With a small young generation, V8 would collect garbage in most series.
    nodeArgs: ['--min-semi-space-size=16'],
    headline: 'promisesPerOp',
    columns: ['timersPerOp', 'kibPerOp'],
  },
];

const OPS = 100;
const SERIES = 31;
const KIB = 1_024;

export const actions = { kibPerOp, resourcesPerOp };

async function run({ acquire }) {
  for (let i = 0; i < OPS; i++) await (await acquire('own'))();
}

/** The median of several series is from a series without a collection. */
async function kibPerOp(locker, series) {
  const grown = [];
  for (let i = 0; i < series; i++) {
    const before = process.memoryUsage().heapUsed;
    await run(locker);
    grown.push((process.memoryUsage().heapUsed - before) / OPS / KIB);
  }
  return median(grown);
}

async function resourcesPerOp(locker) {
  const made = { PROMISE: 0, Timeout: 0 };
  const hook = createHook({
    init(_id, type) {
      if (type in made) made[type] += 1;
    },
  });
  hook.enable();
  await run(locker);
  hook.disable();
  return { promisesPerOp: made.PROMISE / OPS, timersPerOp: made.Timeout / OPS };
}

/** Counts bytes first: with the hook, V8 makes more objects. */
export async function drive(crew, _trial, { pace }) {
  const kib = await crew.one(0, 'kibPerOp', SERIES * pace.share);
  return { ...(await crew.one(0, 'resourcesPerOp')), kibPerOp: kib };
}
