import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  DatabaseUnreachableError,
  openArenaDatabase,
  removeForeignSchema,
} from '../../apps/seckill-demo/src/arena/arena-database.js';
import { openDatabase } from '../../apps/seckill-demo/src/database/open-database.js';
import { startPostgresServer, type PostgresServer } from '../../scripts/postgres-server.mjs';
import { eventually } from '../support/eventually.js';

describe('the Postgres of DATABASE_URL', () => {
  let server: PostgresServer;
  let client: pg.Client;
  beforeAll(async () => {
    server = await startPostgresServer();
    client = new pg.Client(server.url);
    await client.connect();
    await client.query('CREATE TABLE theirs (id integer)');
  });
  afterAll(async () => {
    await client.end();
    await server.stop();
  });

  const opening = (DATABASE_URL: string) => openArenaDatabase({ DATABASE_URL });
  const tables = async () => {
    const { rows } = await client.query<{ at: string }>(
      `SELECT schemaname || '.' || tablename AS at FROM pg_tables
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY at`,
    );
    return rows.map(({ at }) => at);
  };
  const schemas = async () => {
    const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'seckill%'");
    return rows.length;
  };

  it.each<[string, (url: string) => string, string]>([
    ['no URL of Postgres', () => 'mysql://127.0.0.1/shop', 'no postgres:// URL'],
    ['no server there', () => 'postgres://127.0.0.1:1/shop', 'ECONNREFUSED'],
    ['a wrong password', (url) => url.replace(/:\w+@/, ':guess@'), 'password authentication'],
    ['no such database', (url) => url.replace(/\w+$/, 'shop'), 'does not exist'],
  ])('cannot be used with %s, and the demo says why', async (_, urlFrom, reason) => {
    const opened = opening(urlFrom(server.url));
    await expect(opened).rejects.toThrow(DatabaseUnreachableError);
    await expect(opened).rejects.toThrow(reason);
  });

  it('cannot be used by a user that may make no schema', async () => {
    await client.query("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    const opened = opening(server.url.replace(/\/\/.*@/, '//guest:guest@'));
    await expect(opened).rejects.toThrow('permission denied');
  });

  it('may keep a schema when it cannot be reached in the end, and the demo says which', async () => {
    const other = await startPostgresServer();
    const arena = await opening(other.url);
    await arena.assertReachable();
    await other.stop();
    await expect(arena.assertReachable()).rejects.toThrow(DatabaseUnreachableError);
    await expect(arena.close()).rejects.toThrow(`the schema ${arena.schema} may be left`);
  });

  it('gets the tables of the shop in a schema of one run, and is left as it was', async () => {
    const arena = await opening(server.url);
    const settings = { databaseUrl: server.url, databaseSchema: arena.schema, waitTimeMs: 0 };
    // Processes that start together meet at Kysely's lock.
    const shops = await Promise.all([1, 2, 3].map(() => openDatabase(settings)));
    await Promise.all(shops.map((shop) => shop.destroy()));
    expect(arena.schema).toMatch(/^seckill_[0-9a-f]{16}$/);
    const tablesOfKysely = ['kysely_migration', 'kysely_migration_lock'];
    const tablesOfShop = ['ledger', 'orders', 'payments', 'products', 'reconciliations'];
    const names = ['gateway_charges', ...tablesOfKysely, ...tablesOfShop];
    const ours = names.map((name) => `${arena.schema}.${name}`);
    expect(await tables()).toEqual(['public.theirs', ...ours]);

    await arena.clear();
    await (await openDatabase(settings)).destroy();
    expect(await tables()).toHaveLength(1 + ours.length);
    await arena.close();
    expect([await tables(), await schemas()]).toEqual([['public.theirs'], 0]);
  });

  it('lets a process wait for one that is making the tables, longer than a buyer waits', async () => {
    const arena = await opening(server.url);
    const first = new pg.Client(server.url);
    await first.connect();
    await first.query(`BEGIN; CREATE TABLE ${arena.schema}.kysely_migration (name varchar(255))`);
    const settings = { databaseUrl: server.url, databaseSchema: arena.schema, waitTimeMs: 0 };
    const opened = openDatabase(settings);
    await eventually(async () => {
      const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      expect((await client.query(waits)).rowCount).toBe(1);
    });
    await first.end();
    await (await opened).destroy();
    await arena.close();
  });

  it('is left as it was by the caretaker of an arena that was killed', async () => {
    const { schema } = await opening(server.url);
    const environment = { DATABASE_URL: server.url };
    await removeForeignSchema({ ...environment, SECKILL_DATABASE_SCHEMA: 'public' });
    await removeForeignSchema(environment);
    expect([await tables(), await schemas()]).toEqual([['public.theirs'], 1]);
    await removeForeignSchema({ ...environment, SECKILL_DATABASE_SCHEMA: schema });
    expect([await tables(), await schemas()]).toEqual([['public.theirs'], 0]);
  });
});
