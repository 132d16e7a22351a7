import { setTimeout as elapse } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedisServer } from '../../../../scripts/redis-server.mjs';
import { Cable } from './cable.js';

type RedisServer = Awaited<ReturnType<typeof startRedisServer>>;

const SYNC_LIMIT_MS = 10_000;
const ASKS_EVERY_MS = 20;

/** Does to the arena's own Redis the things that happen to a Redis in production. */
export class RedisOperator {
  readonly #cables = new Set<Cable>();

  static async start(): Promise<RedisOperator> {
    return new RedisOperator(await startRedisServer());
  }

  private constructor(private server: RedisServer) {}

  get url(): string {
    return this.server.url;
  }

  get port(): number {
    return this.server.port;
  }

  /** The address of the present master. */
  async layCable(): Promise<Cable> {
    const cable = await Cable.lay(this.server.port);
    this.#cables.add(cable);
    return cable;
  }

  /** The server stands still. Afterwards it answers all pending requests. */
  async pause(ms: number): Promise<void> {
    this.server.pause();
    await elapse(ms, undefined, { ref: false });
    this.server.resume();
  }

  /** All keys are gone afterwards. */
  async restart(): Promise<void> {
    const { port } = this.server;
    await this.server.kill();
    this.server = await startRedisServer({ port });
  }

  /** A replica takes over. It lacks all data that it has not received yet. */
  async failOver(): Promise<void> {
    const args = ['--replicaof', '127.0.0.1', `${this.server.port}`];
    const replica = await startRedisServer({ args });
    try {
      await promote(replica.url);
    } catch (error) {
      await replica.kill();
      throw error;
    }
    const old = this.server;
    this.server = replica;
    for (const cable of this.#cables) cable.turnTo(replica.port);
    await old.kill();
  }

  async stop(): Promise<void> {
    for (const cable of this.#cables) cable.close();
    await this.server.stop();
  }
}

async function promote(url: string): Promise<void> {
  const client = new Redis(url);
  try {
    const limit = Date.now() + SYNC_LIMIT_MS;
    while (!(await client.info('replication')).includes('master_link_status:up')) {
      if (Date.now() > limit) throw new Error('the replica did not get the data in time');
      await elapse(ASKS_EVERY_MS);
    }
    await client.replicaof('NO', 'ONE');
  } finally {
    client.disconnect();
  }
}
