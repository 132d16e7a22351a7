// One caller and a free key, right after a full garbage collection without calls on their way.
// V8 drops the code that it compiled for a kind of object when the last object of that kind dies.
import { setTimeout as sleep } from 'node:timers/promises';
import { cycles, opsPerS } from '../cycles.mjs';
import { ALL } from '../lockers/who.mjs';
import { median } from '../statistics.mjs';

export const title = 'After a full collection';
export const lockers = ALL;
export const state = 'after a collection';

export const trials = [
  {
    id: 'collection',
    title: 'the first 300 ms of one caller with a free key, as a share of its own steady rate',
    cores: 'same core',
    headline: 'sharePct',
    columns: ['steadyPerS', 'collectedPerS'],
  },
];

const TIMES = 3;
/** Enough to compile again the code that the last collection dropped. */
const RECOVERY_MS = 1_500;
const STEADY_MS = 500;
/** After this time no call is on its way. */
const QUIET_MS = 50;
const COLLECTED_MS = 300;

export const actions = { collect };

async function collect(locker) {
  const rate = async (forMs) => opsPerS(await cycles(locker, { flows: 1, forMs }));
  await rate(RECOVERY_MS);
  const steadyPerS = await rate(STEADY_MS);
  await sleep(QUIET_MS);
  global.gc();
  const collectedPerS = await rate(COLLECTED_MS);
  return { steadyPerS, collectedPerS, sharePct: (100 * collectedPerS) / steadyPerS };
}

export async function drive(crew, _trial, { pace }) {
  const found = [];
  for (let i = 0; i < TIMES * pace.share; i++) found.push(await crew.one(0, 'collect'));
  const middle = (name) => median(found.map((each) => each[name]));
  return {
    sharePct: middle('sharePct'),
    steadyPerS: middle('steadyPerS'),
    collectedPerS: middle('collectedPerS'),
  };
}
