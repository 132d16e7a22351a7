import { openDatabase } from '../../../../apps/seckill-demo/src/database/open-database.js';
import type { Database } from '../../../../apps/seckill-demo/src/database/tables.js';
import { startPostgresServer } from '../../../../scripts/postgres-server.mjs';
import type { WorkerHerd } from '../../../support/child.js';
import { eventually } from '../../../support/eventually.js';
import type { Random } from '../../../support/random.js';
import type { RedisFixture } from '../../../support/redis-server.js';
import { pause } from '../pace.js';
import { audit } from './audit.js';
import { Sale } from './sale.js';
import { ShopCrew } from './shop-crew.js';

export interface KillsOptions {
  readonly kills: number;
  readonly workers: WorkerHerd;
  readonly redis: RedisFixture;
  readonly random: Random;
}

const PROCESSES = 3;
const BUYERS = 8;
const PAY_WITHIN_MS = 1_500;
/** So much happens between two times that Redis loses its data. */
const KILLS_A_RESTART = 40;
const APART_MS = [20, 200] as const;
/** Stalled jobs, leases of dead processes and rounds of the reconciliation take their time. */
const SETTLED_WITHIN_MS = 60_000;

/** Kills processes of a shop that sells, and resolves with what is wrong in the end. */
export async function killShop({ kills, workers, redis, random }: KillsOptions): Promise<string[]> {
  const postgres = await startPostgresServer();
  const place = { databaseUrl: postgres.url, databaseSchema: 'public', waitTimeMs: 0 };
  const database = await openDatabase(place);
  const crew = new ShopCrew(workers, {
    REDIS_URL: redis.url,
    DATABASE_URL: postgres.url,
    SECKILL_REAL_SALE: '1',
    SECKILL_PAY_WITHIN_MS: `${PAY_WITHIN_MS}`,
    SECKILL_LEASE_MS: '1000',
    SECKILL_WAIT_MS: '2000',
    SECKILL_LOG_LEVEL: process.env['SECKILL_LOG_LEVEL'] ?? 'off',
  });
  const sale = new Sale({ crew, database, random, payWithinMs: PAY_WITHIN_MS });
  try {
    await crew.hire(PROCESSES);
    await sale.open();
    const buyers = sale.attract(BUYERS);
    const startedAt = performance.now();
    const restarts = await strike({ kills, crew, redis, random: random.fork('kills') });
    say(`${summaryOf(crew, startedAt)}, Redis emptied ${restarts} times`);
    sale.close();
    await settled(sale, database);
    sale.end();
    await buyers;
    say(`settled ${secondsSince(startedAt)} s after the start: ${summaryOfSale(sale)}`);
    return [...crew.failures, ...sale.odd, ...(await audit(database, sale))];
  } finally {
    sale.end();
    await database.destroy();
    await postgres.stop();
  }
}

async function strike({
  kills,
  crew,
  redis,
  random,
}: Omit<KillsOptions, 'workers'> & { readonly crew: ShopCrew }): Promise<number> {
  const restarts: Promise<void>[] = [];
  while (crew.kills < kills) {
    await pause(random.int(...APART_MS));
    await crew.killOne(random);
    if (crew.kills % KILLS_A_RESTART === KILLS_A_RESTART / 2) restarts.push(redis.restart());
  }
  await Promise.all(restarts);
  return restarts.length;
}

/** Everything is sold, and no order waits for anything. */
async function settled(sale: Sale, database: Database): Promise<void> {
  const patience = { withinMs: SETTLED_WITHIN_MS, everyMs: 100 };
  await eventually(() => sale.isSoldOut, patience).catch(() => undefined);
  const isSettled = async (): Promise<boolean> => {
    const open = await database
      .selectFrom('orders')
      .select('id')
      .where('state', 'in', ['queued', 'reserved', 'paying'])
      .execute();
    return open.length === 0;
  };
  // The audit says which orders wait for ever.
  await eventually(isSettled, patience).catch(() => undefined);
}

function summaryOf({ kills, killsOfServing, killsAt }: ShopCrew, startedAt: number): string {
  const points = Object.entries(killsAt).map(([point, count]) => `${point} ${count}`);
  return `${kills} kills in ${secondsSince(startedAt)} s, ${killsOfServing} of processes that served (${points.join(', ')})`;
}

function summaryOfSale({ accepted, thanked, products, statuses }: Sale): string {
  const answers = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  return `${products.length} products, ${accepted.size} orders, ${thanked.size} thanked; ${answers.join(', ')}`;
}

function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1_000).toFixed(1);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
