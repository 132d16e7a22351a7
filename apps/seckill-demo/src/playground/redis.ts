import { defineScript } from '../../../../libs/redis-lock/src/core/redis/script.js';
import type { RawReply, Script } from '../../../../libs/redis-lock/src/core/redis/script.js';
import type {
  RedisConnection,
  Reply,
} from '../../../../libs/redis-lock/src/core/redis/connection.js';
import { SimulatedConnection } from '../../../../libs/world/src/simulated-connection.js';

/** The answer nil is an empty text here: a script of the library answers no nil. */
const COMMAND = scriptOf('command', `return redis.call(unpack(ARGV)) or ''`);

function scriptOf(name: string, body: string) {
  const reply = (raw: RawReply) => (typeof raw === 'object' ? undefined : raw);
  return defineScript({ name, keys: [], args: [], body, reply });
}

type Word = string | number;

/** The server learns the caller of a command, if there is one. */
export class CallersConnection extends SimulatedConnection {
  #caller: string | undefined;

  /** Names the caller of all that the function sends before its first `await`. */
  as<R>(caller: string, send: () => R): R {
    this.#caller = caller;
    try {
      return send();
    } finally {
      this.#caller = undefined;
    }
  }

  override run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    ...call: [keys: readonly string[], args: readonly Word[], minReplicas?: number]
  ): Promise<Reply<R>> {
    const own = { ...script, caller: this.#caller };
    return super.run(own, ...call);
  }
}

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
