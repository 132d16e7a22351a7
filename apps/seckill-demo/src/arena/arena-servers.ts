import { openArenaDatabase } from './arena-database.js';
import type { ArenaDatabase } from './arena-database.js';
import { openArenaRedis } from './arena-redis.js';
import type { ArenaRedis } from './arena-redis.js';

/** Everything that the arena works on: a Redis, and a database beside it. */
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

/** The failure of one must not keep the other from being left as it was. */
async function both(...steps: Array<Promise<void>>): Promise<void> {
  for (const step of await Promise.allSettled(steps)) {
    if (step.status === 'rejected') throw step.reason as Error;
  }
}
