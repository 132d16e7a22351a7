/** The names for `--scenario`, in the order of the report. The file of a scenario has its actions and its `drive`. */
export const SCENARIO_FILES = {
  A: 'scenarios/a',
  B: 'scenarios/b',
  C: 'scenarios/c',
  D: 'scenarios/d',
  E: 'scenarios/e',
  F: 'scenarios/f',
  G: 'scenarios/g',
  fresh: 'scenarios/fresh',
  collection: 'scenarios/collection',
  footprint: 'scenarios/footprint',
  fair: 'primitives/fair',
  readers: 'primitives/readers',
  semaphore: 'primitives/semaphore',
  latch: 'primitives/latch',
  events: 'scenarios/events',
  decorator: 'scenarios/decorator',
};

/**
 * @typedef {object} Scenario
 * @property {string} title
 * @property {string[]} lockers files of lockers/; the first two are ours and its reference
 * @property {string} [state] the state of its processes, if not steady
 * @property {Trial[]} trials
 * @property {Record<string, (locker: any, args: any) => unknown>} actions the commands that workers can run
 * @property {(crew: import('./crew.mjs').Crew, trial: Trial, context: Context) => Promise<Record<string, unknown>>} drive
 * sends the commands, and computes measures from the results
 */

/**
 * @typedef {object} Trial
 * @property {string} id
 * @property {string} title
 * @property {'same core' | 'split'} cores Redis and the clients on one core, or on two
 * @property {number} [processes]
 * @property {string[]} [nodeArgs] for its processes; no other trial then uses these processes
 * @property {number} [warmUpMs] for its processes; no other trial then uses these processes
 * @property {string} headline the measure that counts
 * @property {string[]} columns further measures to show
 */

/**
 * @typedef {object} Context
 * @property {import('./pace.mjs').Pace} pace
 * @property {import('./redis-probe.mjs').RedisProbe} probe
 * @property {number} port
 */

/** @returns {Promise<Scenario & { name: string, file: string, ours: string, reference: string }>} */
export async function loadScenario(name) {
  const file = SCENARIO_FILES[name];
  const scenario = await import(`./${file}.mjs`);
  const [ours, reference] = scenario.lockers;
  return { ...scenario, name, file, ours, reference };
}
