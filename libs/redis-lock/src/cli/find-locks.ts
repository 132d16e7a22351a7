import type { Redis } from 'ioredis';

import { LockError } from '../core/api/errors.js';
import { KeySpace } from '../core/redis/key-names.js';
import { textOf, UnreachableError } from './answers.js';
import { globbed } from './permissions.js';

/** Redis scans this number of keys in one step. */
const STEP = 1_000;
/** Names that are no lock are remembered, so that each is checked once. */
const MOST_REMEMBERED = 100_000;

/** Finds the names of the held locks of a node: it scans the keys step by step, again and again. */
export class LockFinder {
  /** The names that were held when they were found. */
  readonly names = new Set<string>();
  /** Whether one scan has reached all keys. */
  isComplete = false;
  /** Whether the next step begins with the first key. */
  isAtEnd = true;
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

  /** Resolves with further names that may be those of locks. */
  async next(): Promise<string[]> {
    const found = await this.#scan();
    const isLast = this.#cursor === '0';
    this.isAtEnd = isLast && this.#type === 'zset';
    this.isComplete ||= this.isAtEnd;
    const names = found.map((key) => this.#nameOf(key));
    if (isLast) this.#type = this.#type === 'hash' ? 'zset' : 'hash';
    return names.filter((name) => name !== undefined && this.#isNew(name)) as string[];
  }

  /** Forgets a name that is free by now. */
  drop(name: string): void {
    this.names.delete(name);
  }

  /** Remembers a name that is no lock. */
  refuse(name: string): void {
    this.drop(name);
    if (this.#others.size < MOST_REMEMBERED) this.#others.add(name);
  }

  #isNew(name: string): boolean {
    return !this.names.has(name) && !this.#others.has(name);
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
