import { defineScript } from '../../../../libs/redis-lock/src/core/redis/script.js';
import type { RawReply } from '../../../../libs/redis-lock/src/core/redis/script.js';
import type { RedisConnection } from '../../../../libs/redis-lock/src/core/redis/connection.js';

/** The answer nil is an empty text here: a script of the library answers no nil. */
const COMMAND = scriptOf('command', `return redis.call(unpack(ARGV)) or ''`);

function scriptOf(name: string, body: string) {
  const reply = (raw: RawReply) => (typeof raw === 'object' ? undefined : raw);
  return defineScript({ name, keys: [], args: [], body, reply });
}

type Word = string | number;

/** The commands of the strategies, over the connection of their process. */
export class RedisClient {
  constructor(private readonly connection: RedisConnection) {}

  async get(key: string): Promise<string | null> {
    return textOf(await this.#send('get', key));
  }

  async hget(key: string, field: string): Promise<string | null> {
    return textOf(await this.#send('hget', key, field));
  }

  /** Resolves with null if `NX` is given and the key exists. */
  async set(key: string, value: Word, ...options: readonly Word[]): Promise<string | null> {
    return textOf(await this.#send('set', key, value, ...options));
  }

  /** SETNX, which Redis itself runs as a SET. */
  async setnx(key: string, value: Word): Promise<0 | 1> {
    return (await this.set(key, value, 'NX')) === null ? 0 : 1;
  }

  async pexpire(key: string, ms: number): Promise<void> {
    await this.#send('pexpire', key, ms);
  }

  async del(key: string): Promise<void> {
    await this.#send('del', key);
  }

  async eval(lua: string, key: string, ...args: readonly Word[]): Promise<void> {
    await this.connection.run(scriptOf('eval', lua), [key], args);
  }

  async #send(...words: readonly Word[]): Promise<Word> {
    return (await this.connection.run(COMMAND, [], words)).value;
  }
}

function textOf(reply: Word): string | null {
  return reply === '' ? null : String(reply);
}
