import { table } from '../table.mjs';

/** The share of a core that a master may use, so that it still answers at once. */
const USABLE = 0.7;
const SECOND_US = 1e6;
const WORK_MS = 10;
const MORE_MASTERS = [3, 6, 12, 24];
const PROCESSES = 100;
const LOCKS = 10_000;
/** With the default lease of 30 s, each lock is renewed every 10 s. */
const RENEWALS_PER_S = LOCKS / 10;
const KIB = 1_024;

const count = (value) => Math.round(value).toLocaleString('en-US');
const tenths = (value) => value.toFixed(1);
const percent = (value) => `${value < 10 ? tenths(value) : Math.round(value)} %`;
/** A computed figure has two digits. */
const about = (value) => count(Number(value.toPrecision(2)));
const pairsPerS = (redisUs, masters = 1) => (masters * USABLE * SECOND_US) / redisUs;

/**
 * The tables of docs/scaling.md, and of docs/internals/scaling.md, by the names of their sections.
 * @param {{ single: any, clusters: any[] }} measured
 * @param {ReturnType<typeof import('../machine.mjs').describeMachine>} machine
 * @param {import('./trials.mjs').Pace} pace
 */
export function sectionsOf({ single, clusters }, machine, pace) {
  const measured = { 'npm run bench:scaling': circumstances(machine, pace) };
  const master = oneMaster(single, clusters[0]);
  const key = oneKey(single, clusters.at(-1));
  const page = {
    ...measured,
    'one master': some([0, 5, 6], master),
    'one key': some([0, 2, 6], key),
  };
  const inside = {
    ...measured,
    'one master': table(...master),
    'one key': table(...key),
    masters: several(clusters),
    messages: messages(clusters),
    'more masters': more(clusters.at(-1)),
    connections: connections(single, clusters.at(-1)),
    'held locks': heldLocks(single),
  };
  return { page, inside };
}

/** A table of some columns. */
const some = (kept, [titles, rows]) => {
  const only = (row) => kept.map((i) => row[i]);
  return table(only(titles), rows.map(only));
};

function circumstances({ cpu, node, redis, versions, pinned }, { windows, windowMs }) {
  const date = new Date().toISOString().slice(0, 10);
  const where = pinned
    ? 'All masters share one core, and all processes share another.'
    : 'The system moves masters and processes between the cores.';
  const software = `Node ${node.slice(1)}, Redis ${redis}, ioredis ${versions.ioredis}`;
  const method = `Each figure is the median of ${windows} windows of ${windowMs / 1e3} s.`;
  return `Measured on ${date}: ${cpu}, ${software}. ${where} ${method}`;
}

function oneMaster({ inOne, inFour, kinds }, cluster) {
  const rows = {
    'lock, 1 caller': inOne.alone,
    'lock, 64 callers of one process': inOne.many,
    'lock, 4 processes × 64 callers': inFour.many,
    'the same, in a Cluster of one master': cluster.spread,
    'lock with a fencing token, 64 callers': kinds.fenced,
    'fair lock, 64 callers': kinds.fair,
    'read lock, 64 callers': kinds.readers,
    'permit of a semaphore, 64 callers': kinds.permits,
  };
  return [
    [
      'load',
      'pairs/s here',
      'Redis busy',
      'client µs/pair',
      'scripts/pair',
      'Redis µs/pair',
      'pairs/s of a master (computed)',
    ],
    Object.entries(rows).map(([load, its]) => [
      load,
      count(its.perS),
      percent(its.busyPct),
      tenths(its.clientUs),
      its.scripts.toFixed(2),
      tenths(its.redisUs),
      about(pairsPerS(its.redisUs)),
    ]),
  ];
}

function oneKey({ inOne, inFour }, cluster) {
  const rows = {
    '100 callers of one process': inOne.hot,
    '4 processes × 25 callers': inFour.hot,
    [`the same, in a Cluster of ${cluster.masters} masters`]: cluster.hot,
    '4 processes × 1 caller': inFour.hotAlone,
  };
  return [
    [
      'callers',
      'sections/s here',
      'hand-over µs',
      'Redis busy',
      'client µs/section',
      'Redis µs/section',
      `sections/s with ${WORK_MS} ms of work (computed)`,
    ],
    Object.entries(rows).map(([callers, its]) => {
      const handOverUs = SECOND_US / its.perS;
      return [
        callers,
        count(its.perS),
        count(handOverUs),
        percent(its.busyPct),
        count(its.clientUs),
        count(its.redisUs),
        tenths(SECOND_US / (1e3 * WORK_MS + handOverUs)),
      ];
    }),
  ];
}

function several(clusters) {
  return table(
    [
      'masters',
      'pairs/s here',
      'share of each master',
      'Redis µs/pair, all masters',
      'pairs/s (computed)',
    ],
    clusters.map(({ masters, spread }) => [
      String(masters),
      count(spread.perS),
      each(masters, (i) => percent(100 * spread[`share${i}`])).join(', '),
      tenths(spread.redisUs),
      about(pairsPerS(spread.redisUs, masters)),
    ]),
  );
}

const each = (masters, of) => Array.from({ length: masters }, (_, i) => of(i));

const MODES = ['sharded', 'plain'];

function messages(clusters) {
  const rows = clusters.flatMap(({ masters, messages }) =>
    messages.map((its, mode) => [
      `${masters}, ${MODES[mode]}`,
      ofOthers(its, masters, 'received').toFixed(2),
      tenths(ofOthers(its, masters, 'redisUs')),
      tenths(its.redisUs0),
      tenths(its.redisUs),
    ]),
  );
  return table(
    [
      'masters, messages',
      'messages/release to each other master',
      'Redis µs/pair, each other master',
      'Redis µs/pair, the master of the key',
      'Redis µs/pair, all masters',
    ],
    rows,
  );
}

/** The mean of all masters but the first. */
function ofOthers(figures, masters, measure) {
  const values = each(masters - 1, (i) => figures[`${measure}${i + 1}`]);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The formula of the page, with the figures of the largest Cluster. */
function more({ masters: measured, spread, messages: [bySlot, byAll] }) {
  const pairUs = spread.redisUs;
  const messageUs = (byAll.redisUs - bySlot.redisUs) / (measured - 1);
  return table(
    ['masters (computed)', 'sharded: pairs/s', 'plain: pairs/s', 'plain ÷ sharded'],
    MORE_MASTERS.map((masters) => {
      const sharded = pairsPerS(pairUs, masters);
      const plain = pairsPerS(pairUs + (masters - 1) * messageUs, masters);
      return [String(masters), about(sharded), about(plain), (plain / sharded).toFixed(2)];
    }),
  );
}

function connections(single, cluster) {
  const rows = {
    'one server': single.connections,
    [`Cluster of ${cluster.masters}, sharded`]: cluster.connections.sharded,
    [`Cluster of ${cluster.masters}, plain`]: cluster.connections.plain,
  };
  const sum = (counts) => counts.reduce((total, its) => total + its, 0);
  return table(
    [
      'connections of a process',
      'at rest',
      'more while its callers wait',
      'Redis KiB/connection',
      `on each master, ${PROCESSES} processes (computed)`,
    ],
    Object.entries(rows).map(([topology, { resting, listening, kib }]) => [
      topology,
      String(sum(resting)),
      String(sum(listening)),
      count(kib),
      count((PROCESSES * sum([...resting, ...listening])) / resting.length),
    ]),
  );
}

function heldLocks({ held, heldFenced }) {
  const mib = (kib) => tenths((LOCKS * kib) / KIB);
  const load = (us) => percent((100 * RENEWALS_PER_S * us) / SECOND_US);
  return table(
    [
      `${count(LOCKS)} held`,
      'Redis MiB',
      'heap MiB',
      'RSS MiB',
      'Redis µs/renewal',
      'client µs/renewal',
      'Redis busy, lease of 30 s (computed)',
      'process busy (computed)',
    ],
    Object.entries({ locks: held, 'locks with a token': heldFenced }).map(([kind, its]) => [
      kind,
      mib(its.redisKiBPerLock),
      mib(its.heapKiBPerLock),
      mib(its.rssKiBPerLock),
      tenths(its.redisUsPerRenewal),
      tenths(its.clientUsPerRenewal),
      load(its.redisUsPerRenewal),
      load(its.clientUsPerRenewal),
    ]),
  );
}
