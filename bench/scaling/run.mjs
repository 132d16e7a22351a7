// Measures how far one master goes, and several, for docs/scaling.md and docs/internals/scaling.md.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine, findCores } from '../machine.mjs';
import { writeSections } from '../write-sections.mjs';
import { Masters } from './masters.mjs';
import { sectionsOf } from './tables.mjs';
import {
  countConnections,
  measureHolds,
  measureInTurn,
  measurePairs,
  measureSections,
  withCrew,
} from './trials.mjs';

const PAGE = join(import.meta.dirname, '../../docs/scaling.md');
const INSIDE = join(import.meta.dirname, '../../docs/internals/scaling.md');
const FULL = { windows: 5, windowMs: 1_000, warmUpMs: 6_000, locks: 10_000 };
/** Only to see that everything works. */
const QUICK = { windows: 1, windowMs: 300, warmUpMs: 300, locks: 1_000 };

const SHARDED = 'our-cluster:sharded';
const PLAIN = 'our-cluster:plain';
const CLUSTERS = [1, 2, 3];
const FLEET = { processes: 4, callers: 64 };

const say = (line) => process.stderr.write(`${line}\n`);

/** Starts masters for the work, and stops them. */
async function on(starting, work) {
  const masters = await starting;
  try {
    return await work(masters);
  } finally {
    await masters.stop();
  }
}

/** @param {import('./trials.mjs').Setting} setting */
async function measureSingle(setting, masters) {
  const { pace } = setting;
  const crewOf = (locker, processes, work) =>
    withCrew(masters, setting, { locker, processes }, work);
  const pairs = (crew, processes, callers) =>
    measurePairs(crew, pace, { processes, callers, masters });
  say('one server: the lock');
  const inOne = await crewOf('ours', 1, async (crew) => ({
    alone: await pairs(crew, 1, 1),
    many: await pairs(crew, 1, 64),
    hot: await measureSections(crew, pace, { callers: 100 }),
  }));
  const inFour = await crewOf('ours', FLEET.processes, async (crew) => ({
    many: await pairs(crew, FLEET.processes, FLEET.callers),
    hot: await measureSections(crew, pace, { callers: 25 }),
    hotAlone: await measureSections(crew, pace, { callers: 1 }),
  }));
  const kinds = {};
  for (const kind of ['fenced', 'fair', 'readers', 'permits']) {
    say(`one server: ${kind}`);
    kinds[kind] = await crewOf(`ours:${kind}`, 1, (crew) => pairs(crew, 1, 64));
  }
  say('one server: connections and held locks');
  const connections = await countConnections(masters, setting, 'ours');
  const held = await measureHolds(masters, setting, 'ours');
  const heldFenced = await measureHolds(masters, setting, 'ours:fenced');
  const version = await masters.probe.version();
  return { version, inOne, inFour, kinds, connections, held, heldFenced };
}

/** @param {import('./trials.mjs').Setting} setting */
async function measureCluster(setting, masters) {
  const { processes } = FLEET;
  const count = masters.ports.length;
  // A master has the same load in each Cluster, and in both measurements.
  const spread = { processes, callers: FLEET.callers * count, masters };
  const onFirst = { ...FLEET, masters, isOnFirst: true };
  const crewOf = (locker, work) => withCrew(masters, setting, { locker, processes }, work);
  const messagesBeside = (sharded) =>
    crewOf(PLAIN, (plain) => measureInTurn([sharded, plain], setting.pace, onFirst));
  const measured = await crewOf(SHARDED, async (crew) => ({
    spread: await measurePairs(crew, setting.pace, spread),
    hot: await measureSections(crew, setting.pace, { callers: 25 }),
    messages: count > 1 ? await messagesBeside(crew) : [],
  }));
  const connections = {
    sharded: await countConnections(masters, setting, SHARDED),
    plain: await countConnections(masters, setting, PLAIN),
  };
  return { masters: count, ...measured, connections };
}

async function main() {
  const { values } = parseArgs({
    options: { write: { type: 'boolean' }, quick: { type: 'boolean' } },
  });
  const cores = findCores();
  const setting = { cores, pace: values.quick ? QUICK : FULL };
  const core = cores?.redis;
  const single = await on(Masters.single(core), (masters) => measureSingle(setting, masters));
  const clusters = [];
  for (const count of CLUSTERS) {
    say(`a Cluster of ${count}`);
    clusters.push(await on(Masters.cluster(count, core), (it) => measureCluster(setting, it)));
  }
  const machine = describeMachine(cores, single.version);
  const { page, inside } = sectionsOf({ single, clusters }, machine, setting.pace);
  if (values.write) {
    await writeSections(PAGE, page);
    await writeSections(INSIDE, inside);
    return;
  }
  const sections = Object.entries({ ...page, ...inside });
  for (const [name, text] of sections) console.log(`${name}\n\n${text}\n`);
}

main().catch((error) => {
  say(error.stack);
  process.exitCode = 1;
});
