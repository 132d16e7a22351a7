/** The names for `--scenario`, in the order of the report; the file of each holds both of its halves. */
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
 * @property {string[]} lockers files of lockers/; the first two are ours and what it is measured against
 * @property {string} [state] of its processes, if not steady
 * @property {Trial[]} trials
 * @property {Record<string, (locker: any, args: any) => unknown>} actions what the workers can be told to do
 * @property {(crew: import('./crew.mjs').Crew, trial: Trial, context: Context) => Promise<Record<string, unknown>>} drive
 * tells them, and makes measures of what they say
 */

/**
 * @typedef {object} Trial
 * @property {string} id
 * @property {string} title
 * @property {'same core' | 'split'} cores Redis and the clients on one core, or on two
 * @property {number} [processes]
 * @property {string[]} [nodeArgs] for its processes, which are then its own
 * @property {number} [warmUpMs] for its processes, which are then its own
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
