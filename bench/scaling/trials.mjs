// Starts masters and processes, and measures.
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../clock.mjs';
import { driveLoop } from '../contended.mjs';
import { Crew } from '../crew.mjs';
import { drive as hold, leaseMs as HOLDING_LEASE_MS } from '../scenarios/f.mjs';
import { median } from '../statistics.mjs';
import { LEASE_MS } from '../terms.mjs';
import { eventually } from './masters.mjs';

const HEAD_START_MS = 20;
const NAMES_OF_CALLER = 8;
/** More than slots are between two masters, so that each master has some. */
const AWAITED = 48;
/** For what ends a little later than the processes that it belongs to. */
const SETTLE_MS = 500;

/**
 * @typedef {object} Setting
 * @property {import('../machine.mjs').Cores | null} cores
 * @property {Pace} pace
 *
 * @typedef {object} Pace
 * @property {number} windows of which medians are taken
 * @property {number} windowMs
 * @property {number} warmUpMs
 * @property {number} locks to hold
 */

/** The processes run the work after their warm-up. */
export async function withCrew(masters, { cores, pace }, order, work) {
  const [port] = masters.ports;
  const crew = new Crew({
    scenario: 'scaling/actions',
    terms: { port, ports: masters.ports, leaseMs: order.leaseMs ?? LEASE_MS },
    probe: order.probe ?? masters,
    ...order,
  });
  try {
    await crew.ready(cores?.clients);
    const problem = await crew.warmUp(pace);
    if (problem !== undefined) throw new Error(problem);
    return await work(crew);
  } finally {
    await crew.dismiss();
    await masters.clean();
  }
}

/**
 * Callers of all processes acquire and release free locks, each on names of its own.
 * @typedef {object} Load
 * @property {number} processes
 * @property {number} callers of each process
 * @property {import('./masters.mjs').Masters} masters
 * @property {boolean} [isOnFirst] whether all names belong to the first master
 */

/** @param {Load} load */
export async function measurePairs(crew, pace, load) {
  const [figures] = await measureInTurn([crew], pace, load);
  return figures;
}

/** In each window the crews take turns, so that noise of the machine reaches all of them. */
export async function measureInTurn(crews, { windows, windowMs }, load) {
  const names = await namesOf(load);
  const samples = crews.map(() => []);
  for (const crew of crews)
    await Promise.all(names.map((own, process) => crew.one(process, 'prepare', own)));
  for (let i = 0; i < windows; i++) {
    for (const [number, crew] of crews.entries()) {
      const order = { callers: load.callers, forMs: windowMs, startAt: now() + HEAD_START_MS };
      const work = (own, process) => crew.one(process, 'pairs', { ...order, names: own });
      const { result, cost } = await crew.measured(() => Promise.all(names.map(work)));
      samples[number].push(pairSample(result, cost));
    }
  }
  return samples.map(medians);
}

async function namesOf({ callers, processes, masters, isOnFirst }) {
  const length = callers * NAMES_OF_CALLER * (isOnFirst ? masters.ports.length : 1);
  const all = Array.from({ length: processes }, (_, process) =>
    Array.from({ length }, (_, i) => `product_${process * length + i}`),
  );
  if (!isOnFirst) return all;
  const placed = await Promise.all(all.map((names) => masters.ofFirst(names)));
  // A whole number for each caller: no two callers share a name.
  return placed.map((names) => names.slice(0, names.length - (names.length % callers)));
}

function pairSample(results, cost) {
  const count = results.reduce((sum, its) => sum + its.count, 0);
  const ms = Math.max(...results.map((its) => its.ms));
  const sample = {
    perS: (1e3 * count) / ms,
    redisUs: cost.redisUs / count,
    clientUs: cost.clientUs / count,
    busyPct: cost.redisUs / (10 * ms),
    commands: cost.commands / count,
    scripts: cost.scriptCalls / count,
  };
  const { each = [] } = cost;
  for (const [i, its] of each.entries()) {
    sample[`share${i}`] = its.scriptCalls / cost.scriptCalls;
    sample[`redisUs${i}`] = its.redisUs / count;
    sample[`received${i}`] = its.received / count;
  }
  return sample;
}

/** All callers want the same lock, again and again. */
export async function measureSections(crew, { windows, windowMs }, load) {
  const samples = [];
  for (let i = 0; i < windows; i++) {
    const trial = { ...load, id: `hot:${load.callers}:${i}`, forMs: windowMs };
    const sample = await driveLoop(crew, trial, { share: 1 });
    if (sample.overlaps > 0 || sample.error) throw new Error(sample.error ?? 'Two held one lock');
    samples.push({
      perS: sample.opsPerS,
      redisUs: sample.redisUsPerOp,
      clientUs: sample.clientUsPerOp,
      busyPct: (sample.opsPerS * sample.redisUsPerOp) / 1e4,
      commands: sample.commandsPerOp,
      scripts: sample.callsPerOp,
    });
    await sleep(SETTLE_MS);
  }
  return medians(samples);
}

/** One process holds many locks; the watchdog renews each of them every second. */
export async function measureHolds(masters, setting, locker) {
  const order = { locker, processes: 1, leaseMs: HOLDING_LEASE_MS, probe: masters.probe };
  const { locks } = setting.pace;
  const cold = { ...setting, pace: COLD };
  const memory = await withCrew(masters, cold, order, (crew) => memoryOf(crew, masters, locks));
  const renewals = await withCrew(masters, setting, order, (crew) =>
    hold(crew, {}, { pace: { locks, share: 1 }, probe: masters.probe }),
  );
  if (renewals.lost > 0) throw new Error(`${renewals.lost} of ${locks} locks are lost`);
  return { ...renewals, ...memory };
}

/** Without a warm-up: its garbage would leave room for the locks. */
async function memoryOf(crew, masters, locks) {
  const redis = await masters.memory();
  const before = await crew.one(0, 'hold', locks);
  const after = await crew.one(0, 'memory');
  const kib = (from, to) => (to - from) / 1_024 / locks;
  return {
    redisKiBPerLock: kib(redis, await masters.memory()),
    heapKiBPerLock: kib(before.heap, after.heap),
    rssKiBPerLock: kib(before.rss, after.rss),
  };
}

/** The connections of one process, on each master: at rest, and with callers that wait. */
export async function countConnections(masters, { cores }, locker) {
  const setting = { cores, pace: COLD };
  const order = { locker, processes: 1 };
  await sleep(SETTLE_MS);
  const own = await masters.connections();
  return withCrew(masters, setting, order, async (one) => {
    const names = Array.from({ length: AWAITED }, (_, i) => `product_${i}`);
    await one.all('take', names);
    const before = await masters.connections();
    return withCrew(masters, setting, order, async (other) => {
      const resting = await masters.connections();
      await other.all('queue', names);
      await eventually(
        async () => (await masters.queued()) === AWAITED,
        'a caller does not stand in the queue',
      );
      const waiting = await masters.connections();
      const added = (after, from) => after.map(({ count }, i) => count - from[i].count);
      const rested = added(resting, before);
      return {
        resting: rested,
        listening: added(waiting, before).map((count, i) => count - rested[i]),
        kib: perConnection(waiting, own),
      };
    });
  });
}

/** A process that has never waited. */
const COLD = { warmUpMs: 0 };

function perConnection(after, before) {
  const risen = (measure) =>
    after.reduce((sum, its, i) => sum + its[measure] - before[i][measure], 0);
  return risen('bytes') / risen('count') / 1_024;
}

function medians(samples) {
  const names = Object.keys(samples[0]);
  return Object.fromEntries(names.map((name) => [name, median(samples.map((its) => its[name]))]));
}
