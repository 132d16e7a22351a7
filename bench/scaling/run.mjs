// Measures how far one master goes, and several, for docs/scaling.md.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine, findCores } from '../machine.mjs';
import { writeSections } from '../write-sections.mjs';
import { Masters } from './masters.mjs';
import { sectionsOf } from './tables.mjs';
import {
  countConnections,
  measureHolds,
  measurePairs,
  measureSections,
  withCrew,
} from './trials.mjs';

const PAGE = join(import.meta.dirname, '../../docs/scaling.md');
const FULL = { windows: 3, windowMs: 1_000, warmUpMs: 6_000, locks: 10_000 };
/** Only to see that everything works. */
const QUICK = { windows: 1, windowMs: 300, warmUpMs: 300, locks: 1_000 };

const SHARDED = 'our-cluster:sharded';
const PLAIN = 'our-cluster:plain';
const CLUSTERS = [1, 2, 3];
const FLEET = { processes: 4, callers: 16 };

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
  const { pace } = setting;
  const { processes } = FLEET;
  // The load of each master is the same in each Cluster.
  const callers = FLEET.callers * masters.ports.length;
  const load = { processes, callers, masters };
  const onFirst = (crew) => measurePairs(crew, pace, { ...load, isOnFirst: true });
  const sharded = await withCrew(
    masters,
    setting,
    { locker: SHARDED, processes },
    async (crew) => ({
      spread: await measurePairs(crew, pace, load),
      onFirst: await onFirst(crew),
      hot: await measureSections(crew, pace, { callers: 25 }),
    }),
  );
  const plain = await withCrew(masters, setting, { locker: PLAIN, processes }, async (crew) => ({
    spread: await measurePairs(crew, pace, load),
    onFirst: await onFirst(crew),
  }));
  const connections = {
    sharded: await countConnections(masters, setting, SHARDED),
    plain: await countConnections(masters, setting, PLAIN),
  };
  return { masters: masters.ports.length, sharded, plain, connections };
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
  const sections = sectionsOf({ single, clusters }, machine, setting.pace);
  if (values.write) await writeSections(PAGE, sections);
  else for (const [name, text] of Object.entries(sections)) console.log(`${name}\n\n${text}\n`);
}

main().catch((error) => {
  say(error.stack);
  process.exitCode = 1;
});
