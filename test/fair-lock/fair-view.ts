import { expect } from '@jest/globals';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';
import { inOrder } from '../support/in-order.js';
import { ACQUIRE } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import type { AcquireOptions, FairLockService, Lease } from 'nestjs-redis-lock/core';
import { watch, type Watched } from '../contract/suite.js';
import { eventually, type EventuallyOptions } from '../support/eventually.js';
import { channelOf, FOREIGN_CLIENT } from '../support/redisson.js';
import { serverNow } from '../support/moments.js';
import { fairKeysOf } from '../support/redisson-fair.js';
import type { RedisFixture } from '../support/redis-server.js';

/** Threads of Java and the dead. */
const DEAF = new RegExp(`^${FOREIGN_CLIENT}|^dead`);

const TOLD = /^\d+ \d+ [0-9a-f]{32} \d+ [se]$/;

/** How far apart two looks at the clock may be. */
export const SLACK_MS = 2_000;

/** The message by which this owner learns that it has the lock. */
export function grantTo(owner: string): string {
  const number = owner.split(':')[1] ?? '';
  return expect.stringMatching(new RegExp(`^${number} [0-9a-f]{32} \\d+$`)) as never;
}

export interface Waiter extends Watched<Lease> {
  readonly owner: string;
}

/** The queue of one fair lock, as Redis shows it. */
export class FairView {
  readonly keys: ReturnType<typeof fairKeysOf>;

  constructor(
    private readonly redis: RedisFixture,
    readonly key: string,
  ) {
    this.keys = fairKeysOf(key);
  }

  queue(): Promise<string[]> {
    return this.redis.admin.lrange(this.keys.queue, 0, -1);
  }

  /** The horizon of each waiter, in the order of the queue; ms from now on. */
  async horizons(): Promise<number[]> {
    const { admin } = this.redis;
    const now = await serverNow(admin);
    const scores = (await this.queue()).map((owner) => admin.zscore(this.keys.timeouts, owner));
    return (await Promise.all(scores)).map((score) => Number(score ?? NaN) - now);
  }

  async holder(): Promise<string | undefined> {
    return (await this.redis.admin.hkeys(this.key))[0];
  }

  /** Begins to wait for the lock, and resolves once that is known to Redis. */
  async enqueue(locks: FairLockService, options: AcquireOptions = {}): Promise<Waiter> {
    const { length } = await this.queue();
    const waiting = watch(locks.acquire(this.key, { waitTimeMs: 60_000, ...options }));
    const owner = await eventually(async () => {
      const queue = await this.queue();
      if (queue.length <= length) throw new Error('it is not in the queue yet');
      return queue.at(-1) ?? '';
    });
    return Object.assign(waiting, { owner });
  }

  /** The records of those who wait, without those of their processes. */
  async records(): Promise<Record<string, string>> {
    const all = Object.entries(await this.redis.admin.hgetall(this.keys.waiting));
    return Object.fromEntries(all.filter(([name]) => name.includes(':')));
  }

  /** The process of these waiters of ours has died long ago. */
  async die(...owners: string[]): Promise<void> {
    const { admin } = this.redis;
    for (const process of new Set(owners.map((owner) => owner.split(':')[0] ?? ''))) {
      const record = (await admin.hget(this.keys.waiting, process)) ?? '';
      await admin.hset(this.keys.waiting, process, record.replace(/^\d+/, '1'));
    }
  }

  /** Runs the script of an owner that does not go on afterwards. */
  async enter(entry: Entry) {
    const usual = { waitMs: 300_000, leaseMs: 30_000, terms: '' };
    const alive = { aliveMs: 5_000, askedAt: 0 };
    return this.run(ACQUIRE, { ...usual, ...alive, channelPrefix: channelOf(this.key), ...entry });
  }

  async run<R>(script: Script<string, string, R>, args: Record<string, string | number>) {
    const keys = [this.key, ...Object.values(this.keys)];
    const values = inOrder<string | number>(script.args, args);
    return script.decode(await this.redis.admin.eval(script.lua, keys.length, ...keys, ...values));
  }

  /** Each of our waiters in the queue listens on its own channel, and its record says that. */
  async allWaitersListen(pace?: EventuallyOptions): Promise<void> {
    const look = async () => {
      const channels = new Set((await this.redis.admin.pubsub('CHANNELS')) as string[]);
      const records = await this.records();
      const owners = (await this.queue()).filter((owner) => !DEAF.test(owner));
      return owners.every(
        (owner) =>
          channels.has(`${channelOf(this.key)}:${owner}`) && TOLD.test(records[owner] ?? ''),
      );
    };
    await eventually(look, pace);
  }
}

interface Entry {
  owner: string;
  waitMs?: number;
  aliveMs?: number;
  leaseMs?: number;
  terms?: string;
}
