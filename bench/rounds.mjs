import { Crew } from './crew.mjs';
import { inTime, now } from './clock.mjs';
import { loadLocker } from './load-locker.mjs';
import { LEASE_MS } from './terms.mjs';

/**
 * A run of a locker that takes longer hangs. This does not include its warm-up. Beside tests, and
 * with the lowest priority, a run gets a sixtieth of a core.
 */
const LONGEST_MS = 120_000;

/**
 * The samples of one locker in one trial, round by round.
 * @typedef {object} Record
 * @property {string} scenario
 * @property {string} trial
 * @property {string} locker
 * @property {string} label
 * @property {Record<string, any>[]} samples
 * @property {string[]} errors
 */

/**
 * Each round runs each locker once, in fresh processes. Each round begins with another locker.
 * @param {object} bench
 * @param {Awaited<ReturnType<typeof import('./scenarios.mjs').loadScenario>>[]} bench.scenarios
 * @param {import('./pace.mjs').Pace} bench.pace
 * @param {import('./machine.mjs').Cores | null} bench.cores
 * @param {import('./redis-probe.mjs').RedisProbe} bench.probe
 * @param {number} bench.port
 * @param {(line: string) => void} bench.say
 */
export async function runRounds(bench) {
  const { scenarios, pace, say } = bench;
  const records = await emptyRecords(scenarios);
  for (let round = 0; round < pace.rounds; round++) {
    for (const scenario of scenarios) {
      const startedAt = now();
      for (const trials of together(scenario)) {
        for (const locker of rotated(scenario.lockers, round)) {
          const theirs = records.filter((each) => each.locker === locker);
          await runTrials(bench, scenario, { trials, locker, records: theirs });
        }
      }
      const seconds = ((now() - startedAt) / 1e3).toFixed(0);
      say(`round ${round + 1} of ${pace.rounds}: ${scenario.name}, ${seconds} s`);
    }
  }
  return records;
}

/**
 * Groups the trials with the same number of processes: the same processes run them one after the
 * other. A trial with Node arguments or a warm-up of its own runs alone.
 */
function together({ trials }) {
  const kindOf = ({ id, processes, nodeArgs, warmUpMs }) =>
    nodeArgs || warmUpMs !== undefined ? id : processes;
  const kinds = [...new Set(trials.map(kindOf))];
  return kinds.map((kind) => trials.filter((trial) => kindOf(trial) === kind));
}

async function emptyRecords(scenarios) {
  const records = [];
  for (const { name, trials, lockers } of scenarios) {
    for (const { id } of trials) {
      for (const locker of lockers) {
        const { label } = await loadLocker(locker);
        records.push({ scenario: name, trial: id, locker, label, samples: [], errors: [] });
      }
    }
  }
  return records;
}

function rotated(list, by) {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}

async function runTrials(bench, scenario, { trials, locker, records }) {
  await bench.probe.clean();
  let crew;
  for (const trial of trials) {
    const record = records.find((each) => each.trial === trial.id);
    crew ??= new Crew({
      locker,
      scenario: scenario.file,
      processes: trial.processes ?? 1,
      nodeArgs: trial.nodeArgs,
      terms: { port: bench.port, leaseMs: scenario.leaseMs ?? LEASE_MS },
      probe: bench.probe,
    });
    if (await runOne(bench, scenario, { trial, crew, record })) continue;
    await crew.dismiss();
    crew = undefined;
  }
  await crew?.dismiss();
}

/** @returns {Promise<boolean>} whether the next trial can use the processes */
async function runOne({ probe, port, pace, cores }, scenario, { trial, crew, record }) {
  const core = trial.cores === 'split' ? cores?.clients : cores?.redis;
  const warmUp = { ...pace, warmUpMs: trial.warmUpMs ?? pace.warmUpMs };
  const measure = async () => {
    await crew.ready(core);
    const problem = await crew.warmUp(warmUp);
    if (problem !== undefined) record.errors.push(problem);
    return scenario.drive(crew, trial, { pace, probe, port });
  };
  const run = measure();
  try {
    const longestMs = LONGEST_MS + (warmUp.warmUpMs ?? warmUp.longestWarmUpMs);
    if (!(await inTime(run, longestMs))) throw new Error(`Not finished after ${longestMs / 1e3} s`);
    const { error, ...measures } = await run;
    record.samples.push(measures);
    if (error !== undefined) record.errors.push(error);
    return await crew.isSettled();
  } catch (error) {
    run.catch(() => undefined);
    record.errors.push(error.message.split('\n')[0]);
    return false;
  }
}
