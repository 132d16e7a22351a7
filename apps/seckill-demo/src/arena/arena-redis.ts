import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { RedisOperator } from './redis-operator.js';

/** The Redis that the arena works on. */
export interface ArenaRedis {
  readonly url: string;
  readonly keyPrefix: string;
  readonly client: Redis;
  /** Only for the private server; undefined for a server of the user. */
  readonly operator?: RedisOperator;
  /** The name and version that the server reports, such as `7.0.15`. */
  version(): Promise<string>;
  /** The number of commands that the server has run. */
  commands(): Promise<number>;
  /** Rejects with `RedisUnreachableError` if the user's server can no longer be used. */
  assertReachable(): Promise<void>;
  /** Removes everything that this run has written. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export class RedisUnreachableError extends Error {}

/** A running server answers within this time. */
const PATIENCE_MS = 5_000;

export async function openArenaRedis(environment: NodeJS.ProcessEnv): Promise<ArenaRedis> {
  const url = environment['REDIS_URL'];
  return url === undefined || url === '' ? privateRedis() : foreignRedis(url);
}

async function privateRedis(): Promise<ArenaRedis> {
  const operator = await RedisOperator.start();
  // By a cable, so that the client meets the server that is the master at that moment.
  const client = connect((await operator.layCable()).url);
  return {
    get url() {
      return operator.url;
    },
    keyPrefix: '',
    client,
    operator,
    version: () => versionOf(client),
    commands: () => commandsOf(client),
    assertReachable: () => Promise.resolve(),
    clear: () => removeKeys(client, ''),
    close: async () => {
      client.disconnect();
      await operator.stop();
    },
  };
}

async function foreignRedis(url: string): Promise<ArenaRedis> {
  // Long and random: this run has written every key that contains it.
  const keyPrefix = `seckill-demo:${randomBytes(8).toString('hex')}:`;
  const client = await connectForeign(url);
  const clear = (): Promise<void> => removeKeys(client, keyPrefix);
  return {
    url,
    keyPrefix,
    client,
    version: () => versionOf(client),
    commands: () => commandsOf(client),
    assertReachable: async () => {
      (await connectForeign(url)).disconnect();
    },
    clear,
    close: async () => {
      // A server that stands still must not keep the demo from ending.
      const timer = setTimeout(() => {
        client.disconnect();
      }, PATIENCE_MS);
      try {
        await clear();
      } catch (error) {
        const { message } = error as Error;
        throw new Error(`keys with ${keyPrefix} may be left in Redis: ${message}`, {
          cause: error,
        });
      } finally {
        clearTimeout(timer);
        client.disconnect();
      }
    },
  };
}

async function connectForeign(url: string): Promise<Redis> {
  const client = readAddress(url);
  await reach(client);
  return client;
}

function readAddress(url: string): Redis {
  if (!/^rediss?:\/\//.test(url)) throw new RedisUnreachableError('no redis:// or rediss:// URL');
  try {
    return connect(url);
  } catch (error) {
    throw new RedisUnreachableError((error as Error).message);
  }
}

/** Resolves when the server has answered, in the database of the url. */
async function reach(client: Redis): Promise<void> {
  const { keyPrefix = '', db = 0 } = client.options;
  if (keyPrefix !== '') {
    throw new RedisUnreachableError(
      'the library does not use ?keyPrefix= of ioredis; leave it out',
    );
  }
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason = error;
  });
  const timer = setTimeout(() => {
    reason = new Error(`no answer within ${PATIENCE_MS} ms`);
    client.disconnect();
  }, PATIENCE_MS);
  try {
    await client.connect();
    // When it connects, ioredis continues in database 0 if Redis has no other.
    await client.select(db);
  } catch (error) {
    client.disconnect();
    // The error of ioredis only says that it gave up.
    throw new RedisUnreachableError((reason ?? (error as Error)).message);
  } finally {
    clearTimeout(timer);
  }
}

async function commandsOf(client: Redis): Promise<number> {
  const info = await client.info('stats');
  return Number(/^total_commands_processed:(\d+)/m.exec(info)?.[1]);
}

async function versionOf(client: Redis): Promise<string> {
  const info = await client.info('server');
  return /^(?:valkey|redis)_version:(\S+)/m.exec(info)?.[1] ?? '?';
}

/** The library adds its own names around ours, so the prefix may be anywhere in a key. */
export async function removeKeys(client: Redis, keyPrefix: string): Promise<void> {
  for await (const keys of client.scanStream({ match: `*${keyPrefix}*`, count: 1_000 })) {
    const found = keys as string[];
    if (found.length > 0) await client.unlink(...found);
  }
}

function connect(url: string): Redis {
  const client = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    // A visitor may restart Redis; it is looked at again afterwards.
    retryStrategy: (attempt) => Math.min(100 * attempt, 1_000),
  });
  // Every command reports its own failure; without a listener ioredis prints each of them as well.
  client.on('error', () => undefined);
  return client;
}
