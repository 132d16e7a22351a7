import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startPostgresServer } from '../../../../scripts/postgres-server.mjs';

/** The Postgres that the arena works on. */
export interface ArenaDatabase {
  readonly url: string;
  readonly schema: string;
  /** The port of the private server; undefined for a server of the user. */
  readonly privatePort?: number;
  /** Such as `18.4`. */
  version(): Promise<string>;
  /** Rejects with `DatabaseUnreachableError` if the user's server can no longer be used. */
  assertReachable(): Promise<void>;
  /** Removes everything that this run has written. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export class DatabaseUnreachableError extends Error {}

/** A running server answers within this time. */
const PATIENCE_MS = 5_000;
/** The schema of a private server. It ends with the server. */
const SHARED_SCHEMA = 'public';

export async function openArenaDatabase(environment: NodeJS.ProcessEnv): Promise<ArenaDatabase> {
  const url = environment['DATABASE_URL'];
  return url === undefined || url === '' ? privateDatabase() : foreignDatabase(url);
}

async function privateDatabase(): Promise<ArenaDatabase> {
  const server = await startPostgresServer();
  return {
    url: server.url,
    schema: SHARED_SCHEMA,
    privatePort: server.port,
    version: () => versionOf(server.url),
    assertReachable: () => Promise.resolve(),
    clear: () => removeSchema(server.url, SHARED_SCHEMA),
    close: () => server.stop(),
  };
}

async function foreignDatabase(url: string): Promise<ArenaDatabase> {
  if (!/^postgres(ql)?:\/\//.test(url)) throw new DatabaseUnreachableError('no postgres:// URL');
  // Long and random: this run has written everything in it.
  const schema = `seckill_${randomBytes(8).toString('hex')}`;
  // The servers would create it as well; this call checks the permission.
  await reach(url, `CREATE SCHEMA ${schema}`);
  const clear = (): Promise<void> => removeSchema(url, schema);
  const close = async (): Promise<void> => {
    try {
      await clear();
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`the schema ${schema} may be left in Postgres: ${message}`, { cause: error });
    }
  };
  const version = (): Promise<string> => versionOf(url);
  return { url, schema, version, assertReachable: () => reach(url, 'SELECT 1'), clear, close };
}

async function reach(url: string, statement: string): Promise<void> {
  try {
    await run(url, statement);
  } catch (error) {
    throw new DatabaseUnreachableError((error as Error).message);
  }
}

/** Does nothing for a private server, which has no schema of its own for a run. */
export async function removeForeignSchema({
  DATABASE_URL: url,
  SECKILL_DATABASE_SCHEMA: schema,
}: NodeJS.ProcessEnv): Promise<void> {
  if (url === undefined || schema === undefined || schema === SHARED_SCHEMA) return;
  await removeSchema(url, schema);
}

async function versionOf(url: string): Promise<string> {
  const [row] = await run(url, 'SHOW server_version');
  // Packagers put their own name behind it.
  return row?.['server_version']?.split(' ')[0] ?? '?';
}

/** The next process that connects creates the schema again. */
async function removeSchema(url: string, schema: string): Promise<void> {
  await run(url, `DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(schema)} CASCADE`);
}

async function run(url: string, statement: string): Promise<Array<Record<string, string>>> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: PATIENCE_MS });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(statement)).rows;
  } finally {
    await client.end();
  }
}
