// Runs in a folder where one library is installed: tries it, and prints a cell for each row.
import 'reflect-metadata';
import { Redis } from 'ioredis';
import { check, namesIn } from './support.mjs';
import * as nest from './tries/nest.mjs';
import * as primitives from './tries/primitives.mjs';
import { waiting } from './tries/waiting.mjs';
import { works } from './tries/works.mjs';

async function withoutRedis(setting) {
  const tried = await nest.withoutRedis(setting);
  const found = namesIn(setting.library.exported).filter((it) => /memory|mock|fake/i.test(it));
  check(tried || found.length === 0, `it exports ${found.join(', ')}: try that`);
  return tried ?? 'no';
}

const TRIES = {
  guards: nest.guards,
  ownError: nest.ownError,
  ...primitives,
  lost: nest.lost,
  works,
  withoutRedis,
  // The last, because waiters of some libraries go on after the end of their connection.
  waiting,
};

const [name, url, wanted = Object.keys(TRIES).join()] = process.argv.slice(2);
const library = await import(`./libraries/${name}.mjs`);
const admin = new Redis(url);
const open = () => library.open(url);
const cells = { client: library.client, hasNest: library.nest !== undefined };
for (const row of wanted.split(',')) {
  try {
    const locks = await open();
    cells[row] = await TRIES[row]({ library, locks, open, url, admin });
    await locks.close();
    await admin.flushall();
  } catch (error) {
    throw new Error(`${name} cannot be tried: ${row}`, { cause: error });
  }
}
process.stdout.write(JSON.stringify(cells), () => process.exit());
