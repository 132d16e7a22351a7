import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  startRedisServer,
  type RedisServer,
  type RedisServerOptions,
} from '../../scripts/redis-server.mjs';
import type { ConnectionOption } from 'nestjs-redis-lock/core';
import { isAlive } from './child.js';
import { overClient } from './client.js';
import { eventually } from './eventually.js';
import { InProcessRedis } from './in-process/in-process-redis.js';
import { useVirtualTime } from './virtual-time.js';

/** Calls per command, such as `{ evalsha: 3, 'client|setname': 1 }`. */
export type CommandCounts = Record<string, number>;

/** So begin the names of connections that are no application's. */
const OF_THE_TEST = 'test-';
const ADMIN = `${OF_THE_TEST}admin`;
/** Redis before 7 counts `CONFIG` and `CLIENT` without their subcommands. */
const ADMIN_COMMANDS = new Set(['info', 'config|resetstat', 'client|list', 'config', 'client']);

/** The clock may go on between the commands, and the sum is exact when it has not. */
const END_OF = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
while true do
  local before = now()
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 then return ttl end
  if now() == before then return before + ttl end
end`;

type StartServer = (at: { port?: number }) => Promise<RedisServer> | InProcessRedis;

/** A server of one spec file; alive from `beforeAll` to `afterAll`. */
export class RedisFixture {
  readonly #pids = new Set<number>();
  #server: RedisServer | InProcessRedis | undefined;
  #admin: Redis | undefined;

  constructor(private readonly startServer: StartServer) {}

  get server(): RedisServer | InProcessRedis {
    if (!this.#server) throw new Error('The server is there from beforeAll on');
    return this.#server;
  }

  get url(): string {
    return this.server.url;
  }

  /** The url, for the client of this run. */
  get connection(): ConnectionOption {
    return overClient(this.url);
  }

  get port(): number {
    return this.server.port;
  }

  /** A plain ioredis client, for looking at keys and for playing other clients. */
  get admin(): Redis {
    if (!this.#admin) throw new Error('The admin client is there from beforeAll on');
    return this.#admin;
  }

  /** Starts the server, again on its port if it was running before. */
  async start(): Promise<void> {
    const port = this.#server ? { port: this.#server.port } : {};
    this.#server = await this.startServer(port);
    if ('pid' in this.#server) this.#pids.add(this.#server.pid);
    if (!this.#admin) this.#admin = connectAdmin(this.url);
    else if (this.#admin.status !== 'ready')
      await new Promise((resolve) => this.#admin?.once('ready', resolve));
  }

  /** Ends the server as a crash would; its data is gone. */
  async kill(): Promise<void> {
    await this.server.kill();
  }

  /** A crash followed by a start without data, on the same port. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** The process stands still: connections stay open and the server does not answer. */
  pause(): void {
    this.server.pause();
  }

  resume(): void {
    this.server.resume();
  }

  /** The commands that clients other than `admin` called since the last `resetCommandStats()`. */
  async commandStats(): Promise<CommandCounts> {
    const counts: CommandCounts = {};
    const info = await this.admin.info('commandstats');
    for (const [, name = '', calls] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
      if (!ADMIN_COMMANDS.has(name)) counts[name] = Number(calls);
    }
    return counts;
  }

  async resetCommandStats(): Promise<void> {
    await this.admin.config('RESETSTAT');
  }

  /** The commands that reached the server during `work`; `{}` is none. */
  async commandsDuring(work: () => unknown): Promise<CommandCounts> {
    await this.resetCommandStats();
    await work();
    return this.commandStats();
  }

  /** Refuses these commands to every client during `work`, as to a user without the right to them. */
  async without<T>(commands: readonly string[], work: () => Promise<T>): Promise<T> {
    await this.admin.acl('SETUSER', 'default', ...commands.map((command) => `-${command}`));
    try {
      return await work();
    } finally {
      await this.admin.acl('SETUSER', 'default', '+@all');
    }
  }

  /** All keys, without the records of the processes that are connected. */
  async keys(): Promise<string[]> {
    const keys = await this.admin.keys('*');
    return keys.filter((key) => !key.startsWith('nestjs_client:'));
  }

  /** The changes by commands and scripts since Redis has started; a change to the same value counts. */
  async changes(): Promise<number> {
    const info = await this.admin.info('persistence');
    return Number(/rdb_changes_since_last_save:(\d+)/.exec(info)?.[1]);
  }

  /** When a key ends, as PEXPIRETIME says, which Redis has since version 7. */
  async endOf(key: string): Promise<number> {
    return Number(await this.admin.eval(END_OF, 1, key));
  }

  /** The channels of Redisson's on which a client listens: one for each key that a caller waits for. */
  async wakeUpChannels(): Promise<string[]> {
    const channels = (await this.admin.pubsub('CHANNELS')) as string[];
    return channels.filter((channel) => !/^nestjs_|:nodes$/.test(channel));
  }

  /** Resolves once so many connections are subscribed to the channel. */
  async listening(channel: string, expected = 1): Promise<void> {
    await eventually(async () => {
      const [, count] = await this.admin.pubsub('NUMSUB', channel);
      return Number(count) === expected;
    });
  }

  /** The connections of applications, by name or else by address. */
  async clients(): Promise<string[]> {
    const list = String(await this.admin.client('LIST'));
    return [...list.matchAll(/\baddr=(\S+).* name=(\S*)/g)]
      .map(([, address = '', name = '']) => name || address)
      .filter((client) => !client.startsWith(OF_THE_TEST));
  }

  /** Ends everything this fixture started, and fails if something survived. */
  async close(): Promise<void> {
    this.#admin?.disconnect();
    await this.#server?.stop();
    const alive = [...this.#pids].filter(isAlive);
    if (alive.length > 0) throw new Error(`Redis servers are still alive: ${alive.join(', ')}`);
  }
}

/** The specs that need no system run on a real server too. */
const IS_ALL_REAL = process.env.REDIS === 'real';

/**
 * A private server for the specs of a file, empty before each of them: the one in process, whose time
 * is made, or a real one with `REDIS=real`. `flush: false` leaves the data of one spec to the next.
 */
export function useRedis({ flush = true } = {}): RedisFixture {
  if (IS_ALL_REAL) return useRealRedis({ flush });
  useVirtualTime();
  return useFixture(new RedisFixture((at) => new InProcessRedis(at)), flush);
}

/** A real server, for what Node, the network and the server itself do. */
export function useRealRedis({
  flush = true,
  ...options
}: RedisServerOptions & { flush?: boolean } = {}): RedisFixture {
  return useFixture(new RedisFixture((at) => startRedisServer({ ...options, ...at })), flush);
}

function useFixture(redis: RedisFixture, flush: boolean): RedisFixture {
  beforeAll(() => redis.start());
  beforeEach(async () => {
    if (flush) await redis.admin.flushall();
  });
  afterAll(() => redis.close());
  return redis;
}

function connectAdmin(url: string): Redis {
  const admin = new Redis(url, {
    connectionName: ADMIN,
    maxRetriesPerRequest: null,
    retryStrategy: () => 10,
    // Else ioredis keeps the process alive for 2 s when a spec ends with the server down.
    disconnectTimeout: 50,
  });
  // A spec that kills the server expects the errors of the connection.
  admin.on('error', () => undefined);
  return admin;
}
