// Many callers of one key, in one process or in several: in waves, or in a loop.
import { loop, wave } from './callers.mjs';
import { now } from './clock.mjs';
import { overlapsOf, overtakenIn, quantile, turnsOf, visitsOf, waitsOf } from './statistics.mjs';
import { LEFT } from './visits.mjs';

export const actions = {
  wave: ({ acquire }, order) => wave(acquire, order),
  loop: ({ acquire }, order) => loop(acquire, order),
  permits: ({ permits }, [key, count]) => permits(key, count),
};

const CUT_MS = 1_000;
/** All workers begin together. The message reaches them before that. */
const HEAD_START_MS = 5;

/**
 * @param {import('./crew.mjs').Crew} crew
 * @param {{ callers: number, processes?: number, sectionMs?: number, permits?: number }} trial callers in each process
 * @param {import('./pace.mjs').Pace} pace
 */
export async function driveWaves(crew, trial, pace) {
  const cutMs = CUT_MS * pace.share;
  const waves = [];
  const { cost } = await crew.measured(async () => {
    const over = now() + pace.wavesMs;
    do waves.push(await oneWave(crew, trial, { number: waves.length, cutMs }));
    while (now() < over && waves.at(-1).every(({ isOver }) => isOver));
  });
  return inAll(waves, trial, cost);
}

async function oneWave(crew, { id, callers, sectionMs, permits }, { number, cutMs }) {
  const key = `${id}:${number}`;
  if (permits) await crew.all('permits', [key, permits]);
  return crew.all('wave', { key, callers, cutMs, sectionMs, startAt: now() + HEAD_START_MS });
}

/** Like `driveWaves`, but each caller acquires again as soon as it has released. */
export async function driveLoop(crew, trial, pace) {
  const { id, callers, sectionMs, forMs } = trial;
  const order = { key: id, callers, sectionMs, forMs: forMs * pace.share };
  const { result, cost } = await crew.measured(() =>
    crew.all('loop', { ...order, startAt: now() + HEAD_START_MS }),
  );
  const turns = result.flatMap((report) => turnsOf(report, callers));
  const { opsPerS, ...measures } = inAll([result], trial, cost);
  const byProcess = result.map(({ rows }) => rows.length);
  return {
    opsPerS,
    neverPct: percent(turns.filter((count) => count === 0).length, turns.length),
    busiestPct: percent(Math.max(...turns), sum(turns)),
    processRatio: Math.max(...byProcess) / Math.min(...byProcess),
    ...measures,
  };
}

function inAll(rounds, trial, cost) {
  const callers = trial.callers * rounds[0].length * rounds.length;
  const visits = rounds.map(visitsOf);
  const served = sum(visits.map(({ length }) => length));
  const waits = rounds.map(waitsOf);
  return {
    opsPerS: (1e3 * served) / sum(rounds.map((reports, i) => durationOf(reports, visits[i]))),
    servedPct: percent(served, callers),
    ...waitMeasures(waits),
    overtakenPct: percent(sum(rounds.flat().map(overtakenIn)), served),
    overlaps: sum(visits.map((each) => overlapsOf(each, trial.permits))),
    ...costMeasures(cost, served),
    error: rounds.flat().find(({ error }) => error !== undefined)?.error,
  };
}

/** From the first call to the last visit, or to the end if a caller still waits. */
function durationOf(reports, visits) {
  const from = Math.min(...reports.map(({ startedAt }) => startedAt));
  const isWaiting = reports.some(({ waiting }) => waiting.length > 0);
  const to = isWaiting ? Math.max(...reports.map(({ endedAt }) => endedAt)) : lastLeft(visits);
  return to - from;
}

const lastLeft = (visits) => visits.reduce((last, visit) => Math.max(last, visit[LEFT]), 0);

/** The medians of several waves. */
function waitMeasures(waits) {
  const typical = quantile(
    waits.map(({ served }) => quantile(served, 0.5)),
    0.5,
  );
  const longest = quantile(
    waits.map((each) => each.longest),
    0.5,
  );
  return { waitMs: typical, longestWaitMs: longest, waitRatio: longest / typical };
}

/** The cost of one section. `served` is the number of sections. */
export function costMeasures(cost, served) {
  return {
    commandsPerOp: cost.commands / served,
    callsPerOp: cost.scriptCalls / served,
    readsPerOp: cost.reads / served,
    redisUsPerOp: cost.redisUs / served,
    clientUsPerOp: cost.clientUs / served,
  };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const percent = (part, whole) => (100 * part) / whole;
