import { Logger } from '@nestjs/common';
import { CompiledQuery, Kysely, Migrator, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Settings } from '../settings.js';
import { MIGRATIONS } from './migrations.js';
import type { Database, Tables } from './tables.js';

export const DATABASE = Symbol('Database');

const CONNECTIONS = 10;
/** A running database accepts a connection within this time, on any working machine. */
const SHORTEST_PATIENCE_MS = 5_000;

type DatabaseSettings = Pick<Settings, 'databaseUrl' | 'databaseSchema' | 'waitTimeMs'>;

/** Connects to the schema of the settings, and creates missing tables. */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  await migrate(settings);
  const lockTimeoutMs = Math.max(1, settings.waitTimeMs);
  const dialect = new PostgresDialect({
    pool: poolOf(settings),
    // A buyer waits for a row no longer than for a lock. 0 would be no limit.
    onCreateConnection: async (connection) => {
      await connection.executeQuery(CompiledQuery.raw(`SET lock_timeout = ${lockTimeoutMs}`));
    },
  });
  return new Kysely<Tables>({ dialect }).withSchema(settings.databaseSchema);
}

/**
 * Creates the missing tables. Processes that start together wait for the first of them. These
 * connections have no lock timeout, so they may wait longer than buyers.
 */
async function migrate(settings: DatabaseSettings): Promise<void> {
  const { databaseSchema: schema } = settings;
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: poolOf(settings) }) });
  try {
    const { error } = await new Migrator({
      db: db.withSchema(schema),
      provider: { getMigrations: () => Promise.resolve(MIGRATIONS) },
      migrationTableSchema: schema,
    }).migrateToLatest();
    if (error !== undefined) throw error as Error;
  } finally {
    await db.destroy();
  }
}

function poolOf({ databaseUrl, waitTimeMs }: DatabaseSettings): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: CONNECTIONS,
    // The wait for a free one of the ten counts as well.
    connectionTimeoutMillis: Math.max(SHORTEST_PATIENCE_MS, waitTimeMs),
  });
  const logger = new Logger('ShopDatabase');
  const onError = (error: Error): void => {
    logger.debug(error.message);
  };
  pool.on('error', onError);
  // The pool listens only to its idle connections. An 'error' of another one would end the process.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

const NO_NETWORK = /^E(CONN[A-Z]+|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)$/;
/** The connection failed, there are too many, or the server is stopping or starting. */
const NO_SERVER = /^(08...|53300|57P0.)$/;
/** Messages of pg that come without a code. */
const CUT_OFF = /^(Connection terminated|timeout exceeded when trying|Client has encountered)/;

/** The database is unreachable, or was during the query. */
export function isOutage(error: unknown): boolean {
  const { code, message } = Object(error) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  if (typeof code !== 'string') return CUT_OFF.test(String(message));
  return NO_NETWORK.test(code) || NO_SERVER.test(code);
}

/** The index has refused a second row for the same key. */
export function isDuplicate(error: unknown, index: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === index;
}

/** Another transaction has locked the row for too long. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03';
}

/** The row refers to a row that does not exist. */
export function isUnknownReference(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23503';
}
