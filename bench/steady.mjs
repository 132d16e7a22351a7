// Processes are warm when the rate of their locks has stopped rising.
import { now } from './clock.mjs';

const ROUND_MS = 1_000;
/** The last third of the time is compared with the third before it. Each has at least 2 rounds. */
const LEAST_THIRD = 2;
/** On a machine with other work, two thirds differ by less than this without a rise. */
const RISEN = 1.03;

/** @typedef {{ ops: number, cpuUs: number, problem?: string }} Part one kind of load in one process */

/**
 * @param {(forMs: number) => Promise<Part[][]>} warmFor resolves with the parts of each process
 * @param {import('./pace.mjs').Pace} pace a fixed time, or an upper limit
 * @returns {Promise<string | undefined>} what went wrong
 */
export async function untilSteady(warmFor, { warmUpMs, longestWarmUpMs }) {
  const isFixed = warmUpMs !== undefined;
  const over = now() + longestWarmUpMs;
  const rates = [];
  let problem;
  do {
    const reports = await warmFor(isFixed ? warmUpMs : ROUND_MS);
    problem = reports.flat().find((part) => part.problem !== undefined)?.problem;
    if (isFixed || problem !== undefined || reports[0].length === 0) break;
    rates.push(rateOf(reports));
  } while (isRising(rates) && now() + ROUND_MS < over);
  return problem;
}

/**
 * The geometric mean of all kinds of load, each in operations per CPU time of all processes. Pauses and
 * other load of the machine do not count.
 */
function rateOf(reports) {
  const logs = reports[0].map((_, kind) => {
    const parts = reports.map((report) => report[kind]);
    return Math.log(sum(parts.map(({ ops }) => ops)) / sum(parts.map(({ cpuUs }) => cpuUs)));
  });
  return Math.exp(mean(logs));
}

function isRising(rates) {
  const third = Math.floor(rates.length / 3);
  if (third < LEAST_THIRD) return true;
  return mean(rates.slice(-third)) > RISEN * mean(rates.slice(-2 * third, -third));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => sum(values) / values.length;
