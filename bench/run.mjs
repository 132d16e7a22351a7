// Measures this library beside Redisson's protocol by hand, and beside other lock libraries.
import { writeFile } from 'node:fs/promises';
import { startRedisServer } from '../scripts/redis-server.mjs';
import { writeCharts } from './chart.mjs';
import { adopt } from './load-locker.mjs';
import { isPeer, RAW, withOutsiders } from './lockers/who.mjs';
import { describeMachine, findCores, pin } from './machine.mjs';
import { readOptions, USAGE, UsageError } from './options.mjs';
import { RedisProbe } from './redis-probe.mjs';
import { stateTable, tables, targetTable } from './report.mjs';
import { runRounds } from './rounds.mjs';
import { loadScenario } from './scenarios.mjs';
import { breakages, compare, verdicts } from './verdicts.mjs';

const say = (line) => process.stderr.write(`${line}\n`);

/** @param {import('./options.mjs').Options} options */
async function measure({ scenarios: names, lockers, lockerFiles, peers, pace }) {
  const scenarios = await Promise.all(names.map(loadScenario));
  if (lockers) for (const scenario of scenarios) scenario.lockers = lockersOf(scenario, lockers);
  if (!peers) for (const its of scenarios) its.lockers = its.lockers.filter((it) => !isPeer(it));
  const outsiders = lockerFiles.map(adopt);
  for (const its of scenarios) its.lockers = withOutsiders(its, outsiders);
  const cores = findCores();
  const server = await startRedisServer();
  if (cores) pin(server.pid, cores.redis);
  const probe = await RedisProbe.at(server.port);
  try {
    const bench = { scenarios, pace, cores, probe, port: server.port, say };
    const machine = describeMachine(cores, await probe.version());
    return { records: await runRounds(bench), scenarios, machine };
  } finally {
    probe.close();
    await server.stop();
  }
}

function lockersOf(scenario, wanted) {
  const known = scenario.lockers.filter((locker) => wanted.includes(locker));
  return wanted.includes('nothing') ? [...known, 'nothing'] : known;
}

function judge({ records, scenarios }) {
  const comparisons = scenarios.flatMap((scenario) =>
    scenario.trials.map((trial) => ({ scenario, trial, ...compare(scenario, trial, records) })),
  );
  return { comparisons, judged: verdicts(comparisons), broken: breakages(comparisons) };
}

function print(machine, { comparisons, judged, broken }, { rounds }, write) {
  const { cpu, system, node, redis, versions, where } = machine;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  write(`${cpu}, ${system}, Node ${node}, Redis ${redis}\n${named.join(', ')}`);
  write(`${where}; medians of ${rounds} round${rounds === 1 ? '' : 's'}\n`);
  for (const text of tables(comparisons)) write(`${text}\n`);
  const locks = comparisons.filter(({ scenario }) => scenario.reference === RAW);
  if (locks.length > 0) write(`Side by side\n\n${stateTable(locks)}\n`);
  write(`Targets\n\n${targetTable(judged)}\n`);
  write(broken.length > 0 ? `BROKEN\n${broken.join('\n')}` : 'Nothing is broken.');
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return console.log(USAGE);
  const measured = await measure(options);
  const judgement = judge(measured);
  const isPiped = options.json === '-';
  print(measured.machine, judgement, options.pace, isPiped ? say : console.log);
  const { machine, records } = measured;
  if (options.chart)
    await writeCharts(options.chart, judgement.comparisons, methodOf(machine, options.pace));
  const json = JSON.stringify({ machine, pace: options.pace, records, ...summary(judgement) });
  if (isPiped) console.log(json);
  else if (options.json) await writeFile(options.json, `${json}\n`);
  // A slow machine does not fail the build. A lock that does not lock fails it.
  process.exitCode = judgement.broken.length > 0 ? 1 : 0;
}

function methodOf({ cpu, node, redis }, { rounds }) {
  const date = new Date().toISOString().slice(0, 10);
  return `npm run bench, ${date}: medians of ${rounds} rounds, Node ${node}, Redis ${redis}, ${cpu}`;
}

const summary = ({ judged, broken }) => ({ targets: judged, broken });

main().catch((error) => {
  say(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error.stack);
  process.exitCode = error instanceof UsageError ? 64 : 1;
});
