// The cost of events: without a listener, with one, and with counters.
import { median } from '../statistics.mjs';

export const title = 'Events';
export const lockers = ['our-events'];

export const trials = [
  {
    id: 'events',
    title: 'acquire and release without Redis, in CPU time',
    processes: 1,
    cores: 'split',
    headline: 'addedUs',
    columns: ['silentUs', 'unheardUs', 'heardUs', 'countedUs'],
  },
];

const CYCLES = 1_000;
const SERIES = 60;
/** Trials without a listener come first: a listener makes a channel slower, even after it has left. */
const TURNS = [['silent', 'unheard'], ['heard'], ['counted']];
const WAYS = TURNS.flat();

export const actions = {
  /** In turn, so that other work on the machine affects all of them. */
  async cycles(locker, series) {
    const times = Object.fromEntries(WAYS.map((way) => [way, []]));
    for (const ways of TURNS) {
      const stop = locker.listen(ways[0]);
      for (let i = 0; i < series; i++) {
        for (const way of ways) times[way].push(await usPerCycle(locker[way]));
      }
      stop();
    }
    return times;
  },
};

async function usPerCycle(cycle) {
  const from = process.cpuUsage();
  for (let i = 0; i < CYCLES; i++) await cycle();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / CYCLES;
}

/** `addedUs`: what events cost while no listener is there. */
export async function drive(crew, _trial, { pace }) {
  const times = await crew.one(0, 'cycles', SERIES * pace.share);
  const [silentUs, unheardUs, heardUs, countedUs] = WAYS.map((way) => median(times[way]));
  return { addedUs: unheardUs - silentUs, silentUs, unheardUs, heardUs, countedUs };
}
