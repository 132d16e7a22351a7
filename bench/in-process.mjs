// How fast the server in process of nestjs-redis-lock/testing runs the scripts of the library.
import { readdirSync, readFileSync } from 'node:fs';
import { compile, importCompiled } from '../scripts/compile.mjs';

// No entry of the package exports the server.
const SERVER = new URL('../libs/redis-lock/src/testing/server/', import.meta.url);
await compile(['libs']);
const { Program } = await importCompiled(new URL('program.ts', SERVER));
const { RedisServer } = await importCompiled(new URL('redis-server.ts', SERVER));

const ROUNDS = 5;
const TURNS = 5_000;
const FOLDER = new URL('../libs/redis-lock/lua/', import.meta.url);
const CROWD = 4;

const scripts = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.lua'))
  .map((file) => ({ lua: readFileSync(new URL(file, FOLDER), 'utf8'), sha1: file }));
const byName = new Map(scripts.map((script) => [script.sha1.slice(0, -'.lua'.length), script]));

/** Each call is at a new millisecond. */
let wall = Date.now();
const server = new RedisServer({ now: () => wall, wall: () => (wall += 1) });
const run = (name, keys, args) => server.evaluate(byName.get(name), keys, args.map(String));

const owner = (caller, turn) => `0000000${caller}-0000-4000-8000-000000000000:${turn}`;

function locks() {
  const QUEUE = ['nestjs_lock_queue:{k}', 'nestjs_lock_claims:{k}', 'nestjs_lock_opened:{k}'];
  for (let turn = 0; turn < TURNS; turn += 1) {
    run('hash-lock.acquire', ['k'], [owner(1, turn), 30_000]);
    run('lock.release', ['k', ...QUEUE], [owner(1, turn), 'channel', 1_000]);
  }
  return 2 * TURNS;
}

/** Four callers queue, and each acquires when the one before it has released. */
function fairLocks() {
  const keys = ['f', 'fq', 'ft', 'fw'];
  const acquire = (caller, turn) =>
    run('fair.acquire', keys, [owner(caller, turn), 30_000, 10_000, 5_000, turn, '', 'channel']);
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (let caller = 0; caller < CROWD; caller += 1) acquire(caller, turn);
    for (let caller = 0; caller < CROWD; caller += 1) {
      run('fair.release', keys, [owner(caller, turn), 'channel']);
      if (caller + 1 < CROWD) acquire(caller + 1, turn);
    }
  }
  return (3 * CROWD - 1) * TURNS;
}

/** The time of the processor (ms), which other processes of the machine hardly change. */
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

function rate(work) {
  const startedAt = cpuMs();
  return (work() / (cpuMs() - startedAt)) * 1_000;
}

const compiling = cpuMs();
for (const { lua, sha1 } of scripts) new Program(sha1, lua, () => true);
const spentMs = cpuMs() - compiling;
console.log(`${scripts.length} scripts are ready after ${spentMs.toFixed(0)} ms of CPU`);
for (const [name, work] of Object.entries({ 'lock scripts': locks, 'fair scripts': fairLocks })) {
  const rates = Array.from({ length: ROUNDS }, () => rate(work)).sort((a, b) => a - b);
  const median = Math.round(rates[ROUNDS >> 1]).toLocaleString('en');
  console.log(`${median} ${name} a second of CPU, median of ${ROUNDS} rounds`);
}
