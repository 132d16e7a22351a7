import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { startPostgresServer, type PostgresServer } from '../../scripts/postgres-server.mjs';
import { useApplications } from '../nest/applications.js';
import { eventually, Gate, useRealRedis, watch } from '../support/set-up.js';
import { PrismaClient } from './examples/generated/prisma/client.js';
import { tryAdvisoryLock } from './examples/recipes/advisory-lock.js';
import * as byDrizzle from './examples/recipes/drizzle.js';
import { OrderController } from './examples/recipes/idempotent.js';
import * as byPrisma from './examples/recipes/prisma.js';

const redis = useRealRedis();
const apps = useApplications(redis);

let server: PostgresServer;
let pool: pg.Pool;
beforeAll(async () => {
  server = await startPostgresServer();
  pool = new pg.Pool({ connectionString: server.url });
  // As the page says: without them, a session that ends would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

/** How many sessions wait for an advisory lock or a row. */
const waiting = async () => {
  const of = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  return (await pool.query<{ count: number }>(of)).rows[0]?.count;
};

describe.each(['Prisma', 'Drizzle'] as const)('a transaction of %s', (kind) => {
  let prisma: PrismaClient;
  let test: pg.PoolClient;
  let lost = false;
  beforeEach(async () => {
    lost = false;
    await pool.query(`
      CREATE TABLE product (sku text PRIMARY KEY, pieces int NOT NULL);
      INSERT INTO product VALUES ('A', 1);
      CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER before_commit AFTER UPDATE ON product
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stop()`);
    prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: server.url }) });
    test = await pool.connect();
  });
  afterEach(async () => {
    test.release(true);
    await prisma.$disconnect();
    await pool.query('DROP TABLE product; DROP FUNCTION stop');
  });
  const start = async (options = {}) => {
    const { OrderService } = kind === 'Prisma' ? byPrisma : byDrizzle;
    const app = await apps.start(
      {
        providers: [
          OrderService,
          { provide: PrismaClient, useValue: prisma },
          { provide: byDrizzle.DATABASE, useValue: drizzle(pool) },
        ],
      },
      { observer: { observe: ({ type }) => void (lost ||= type === 'lost') }, ...options },
    );
    app.nest.useLogger(false);
    return app.nest.get<byPrisma.OrderService>(OrderService);
  };
  const pieces = async () =>
    (await pool.query<{ pieces: number }>('SELECT pieces FROM product')).rows[0]?.pieces;

  it('holds the lock until the commit, and the next caller reads what is left', async () => {
    const orders = await start();
    await test.query('SELECT pg_advisory_lock(1)');
    const first = orders.buy('A');
    await eventually(async () => (await waiting()) === 1);
    expect(await pieces()).toBe(1);
    expect(await redis.admin.exists('product_A')).toBe(1);
    const second = watch(orders.buy('A'));
    await test.query('SELECT pg_advisory_unlock(1)');
    expect(await first).toBe(0);
    await expect(second.promise).rejects.toThrow('sold out');
    expect(await pieces()).toBe(0);
  });

  it('rolls back when the lock was lost before the commit', async () => {
    const orders = await start({ watchdogLeaseMs: 2_000 }); // so that the watchdog notices soon
    await test.query('BEGIN; SELECT * FROM product FOR UPDATE');
    const first = watch(orders.buy('A'));
    await eventually(async () => (await waiting()) === 1);
    await redis.admin.del('product_A');
    await eventually(() => lost);
    await test.query('COMMIT');
    await expect(first.promise).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await pieces()).toBe(1);
  });
});

describe('idempotent requests', () => {
  it('places one order for each key, and answers a repeated request alike', async () => {
    await pool.query(`
      CREATE TABLE orders (id serial PRIMARY KEY, sku text NOT NULL);
      CREATE TABLE request (key text PRIMARY KEY, answer jsonb NOT NULL)`);
    const providers = [{ provide: pg.Pool, useValue: pool }];
    const app = await apps.start({ controllers: [OrderController], providers });
    const place = async (key: string) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key };
      const body = JSON.stringify({ sku: 'tea' });
      const answer = await app.request('/orders', { method: 'POST', headers, body });
      return (await answer.json()) as { id: number; sku: string };
    };
    const answers = await Promise.all([place('a'), place('a'), place('b')]);
    const { rows } = await pool.query('SELECT id, sku FROM orders ORDER BY id');
    expect(rows).toHaveLength(2);
    expect(answers[0]).toEqual(answers[1]);
    expect(new Set(answers.map((its) => JSON.stringify(its)))).toEqual(
      new Set(rows.map((its) => JSON.stringify(its))),
    );
    expect(await place('a')).toEqual(answers[0]);
    const without = app.nest.get(OrderController).place(undefined as unknown as string, 'tea');
    await expect(without).rejects.toMatchObject({ code: 'LOCK_KEY' });
  });
});

describe('a Postgres advisory lock', () => {
  const free = async () => {
    const { rows } = await pool.query("SELECT * FROM pg_locks WHERE locktype = 'advisory'");
    return rows.length === 0;
  };

  it('lets one caller in, and is free after the commit, a failure, and the end of the session', async () => {
    const gate = new Gate();
    let runs = 0;
    const work = async () => {
      runs += 1;
      await gate.opened;
      return 'done';
    };
    const first = tryAdvisoryLock(pool, 'report', work);
    await eventually(() => runs === 1);
    const meanwhile = [
      await tryAdvisoryLock(pool, 'report', async () => 2),
      await tryAdvisoryLock(pool, 'other', async () => 3),
    ];
    gate.open();
    expect(meanwhile).toEqual([undefined, 3]);
    expect(await first).toBe('done');
    expect(await free()).toBe(true);
    const failing = tryAdvisoryLock(pool, 'report', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    await eventually(free);
    const killed = tryAdvisoryLock(pool, 'report', (tx) =>
      tx.query('SELECT pg_terminate_backend(pg_backend_pid())'),
    );
    await expect(killed).rejects.toThrow(/terminat/);
    await eventually(free);
    expect(await tryAdvisoryLock(pool, 'report', work)).toBe('done');
    expect(runs).toBe(2);
  });
});
