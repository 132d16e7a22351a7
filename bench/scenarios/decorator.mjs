// The CPU time that @WithLock adds to a call, and to the start of an application. The lock takes no time.
import { median } from '../statistics.mjs';

export const title = 'Decorator';
export const lockers = ['our-decorator'];

const COMMON = { processes: 1, cores: 'split' };

export const trials = [
  {
    ...{ ...COMMON, id: 'decorator call', title: 'a call, beside the same call by hand' },
    headline: 'addedUs',
    columns: ['decoratedUs', 'plainUs'],
  },
  {
    ...{ ...COMMON, id: 'decorator boot', title: 'start with 500 decorated methods, or without' },
    headline: 'addedMs',
    columns: ['decoratedMs', 'plainMs'],
  },
];

const CALLS = 1_000;
const SERIES = 60;
const CLASSES = 50;
const METHODS = 10;

export const actions = { calls, starts };

/** In turn, so that other work on the machine affects both. */
async function calls({ decorated, byHand }, series) {
  const times = { decorated: [], plain: [] };
  for (let i = 0; i < series; i++) {
    times.plain.push(await usPerCall(byHand));
    times.decorated.push(await usPerCall(decorated));
  }
  return { decoratedUs: median(times.decorated), plainUs: median(times.plain) };
}

async function usPerCall(call) {
  const from = process.cpuUsage();
  for (let i = 0; i < CALLS; i++) await call('7');
  const { user, system } = process.cpuUsage(from);
  return (user + system) / CALLS;
}

/** Each process starts once: Nest's code is warm, the decorator's code is not. */
async function starts({ boots }) {
  await boots(CLASSES, METHODS, false);
  const plainMs = await boots(CLASSES, METHODS, false);
  return { plainMs, decoratedMs: await boots(CLASSES, METHODS, true) };
}

export async function drive(crew, { id }, { pace }) {
  if (id === 'decorator call') {
    const times = await crew.one(0, 'calls', SERIES * pace.share);
    return { addedUs: times.decoratedUs - times.plainUs, ...times };
  }
  const times = await crew.one(0, 'starts');
  return { addedMs: times.decoratedMs - times.plainMs, ...times };
}
