import { openArenaDatabase } from './arena-database.js';
import type { ArenaDatabase } from './arena-database.js';
import { openArenaRedis } from './arena-redis.js';
import type { ArenaRedis } from './arena-redis.js';

/** All servers of the arena: a Redis and a database. */
export interface ArenaServers extends ArenaRedis {
  readonly database: ArenaDatabase;
}

export async function openArenaServers(environment: NodeJS.ProcessEnv): Promise<ArenaServers> {
  const redis = await openArenaRedis(environment);
  try {
    const database = await openArenaDatabase(environment);
    return {
      ...redis,
      // It changes when another Redis becomes the master.
      get url() {
        return redis.url;
      },
      database,
      assertReachable: () => both(redis.assertReachable(), database.assertReachable()),
      clear: () => both(redis.clear(), database.clear()),
      close: () => both(redis.close(), database.close()),
    };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

/** A failure of one server must not prevent the clean-up of the other. */
async function both(...steps: Array<Promise<void>>): Promise<void> {
  for (const step of await Promise.allSettled(steps)) {
    if (step.status === 'rejected') throw step.reason as Error;
  }
}
