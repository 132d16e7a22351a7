import type { Pool, PoolClient } from 'pg';

// Resolves with the result of the work, or with undefined if the lock is busy.
export async function tryAdvisoryLock<T>(
  pool: Pool,
  name: string,
  work: (tx: PoolClient) => Promise<T>,
): Promise<T | undefined> {
  const tx = await pool.connect();
  let failed = true;
  try {
    await tx.query('BEGIN');
    const acquire = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS held';
    const { rows } = await tx.query<{ held: boolean }>(acquire, [name]);
    const result = rows[0]?.held ? await work(tx) : undefined;
    await tx.query('COMMIT'); // releases the lock
    failed = false;
    return result;
  } finally {
    tx.release(failed); // after an error the connection ends: it rolls back and releases the lock
  }
}
