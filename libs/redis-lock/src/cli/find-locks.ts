import type { Redis } from 'ioredis';

import { LockError } from '../core/api/errors.js';
import { KeySpace } from '../core/redis/key-names.js';
import { textOf, UnreachableError } from './answers.js';
import { globbed } from './permissions.js';

/** Redis looks at this number of keys in one step. */
const STEP = 1_000;
/** The steps of one frame: in a larger Redis the next frame goes on. */
const MOST_STEPS = 200;
/** Names of no lock are remembered, so that none is asked for twice. */
const MOST_REMEMBERED = 100_000;

/** Finds the names of what is held on a node, a part of its keys in each frame. */
export class LockFinder {
  readonly names = new Set<string>();
  /** Whether all keys were looked at. */
  isComplete = false;
  readonly #others = new Set<string>();
  readonly #keys: KeySpace;
  /** Locks are hashes; permits in use are a sorted set. */
  #type: 'hash' | 'zset' = 'hash';
  #cursor = '0';

  constructor(
    private readonly client: Redis,
    private readonly keyPrefix: string,
  ) {
    this.#keys = new KeySpace(keyPrefix);
  }

  /** Resolves when it has looked at the next keys. */
  async search(): Promise<void> {
    for (let step = 0; step < MOST_STEPS; step++) {
      const found = await this.#scan();
      for (const key of found) {
        const name = this.#nameOf(key);
        if (name !== undefined && !this.#others.has(name)) this.names.add(name);
      }
      if (this.#cursor !== '0') continue;
      this.isComplete ||= this.#type === 'zset';
      this.#type = this.#type === 'hash' ? 'zset' : 'hash';
      if (this.#type === 'hash') return;
    }
  }

  /** It is free by now. */
  drop(name: string): void {
    this.names.delete(name);
  }

  /** It is no lock. */
  refuse(name: string): void {
    this.drop(name);
    if (this.#others.size < MOST_REMEMBERED) this.#others.add(name);
  }

  async #scan(): Promise<string[]> {
    const prefix = globbed(this.keyPrefix);
    const match = this.#type === 'hash' ? `${prefix}*` : `*${prefix}*:timeout`;
    const args = ['MATCH', match, 'COUNT', String(STEP), 'TYPE', this.#type];
    try {
      const [cursor, keys] = (await this.client.call('scan', this.#cursor, ...args)) as [
        string,
        string[],
      ];
      this.#cursor = cursor;
      return keys;
    } catch (error) {
      if (error instanceof Error && error.name === 'ReplyError') throw error;
      throw new UnreachableError(textOf(error));
    }
  }

  #nameOf(found: string): string | undefined {
    const [, tagged, own] = /^(?:\{([^{}]+)\}|(.+)):timeout$/.exec(found) ?? [];
    const key = this.#type === 'hash' ? found : (tagged ?? own ?? '');
    const name = this.#keys.nameOf(key);
    try {
      return this.#keys.key(name) === key ? name : undefined;
    } catch (error) {
      if (error instanceof LockError) return undefined;
      throw error;
    }
  }
}
