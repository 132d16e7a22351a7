import type { Lease } from '../../../../libs/redis-lock/src/core/api/lease.js';
import type { Shop } from './shop.js';
import type { PlaygroundStrategy } from './experiment.js';

export type Answer = 'sold' | 'sold-out' | 'busy';

/** One order of one caller. Page and run show and run this very code. */
export type Strategy = (shop: Shop) => Promise<Answer>;

/** The tutorial's sale: read the stock, take one, write it back. */
export async function sellOne(shop: Shop, { read, write }: Book = plain(shop)): Promise<Answer> {
  const stock = Number(await read());
  if (stock === 0) return 'sold-out';
  await shop.work();
  await write(stock - 1);
  return 'sold';
}

interface Book {
  readonly read: () => Promise<string | null>;
  readonly write: (left: number) => Promise<unknown>;
}

export const plain = ({ redis }: Shop): Book => ({
  read: () => redis.get('stock'),
  write: (left) => redis.set('stock', left),
});

/** Right before the write, the holder checks that it still holds the lock. */
export const asserted = ({ redis }: Shop, lease: Lease): Book => ({
  read: () => redis.get('stock'),
  write: (left) => {
    lease.assertHeld();
    return redis.set('stock', left);
  },
});

/** Redis refuses the write if a newer holder has written. */
export const guarded = ({ redis, guard }: Shop, { fencingToken }: Lease): Book => ({
  read: () => redis.hget('sale', 'stock'),
  write: (left) => guard.write(fencingToken, 'sale', 'hset', 'stock', left),
});

export const STRATEGIES: Readonly<Record<PlaygroundStrategy, Strategy>> = {
  naive: (shop) => sellOne(shop),

  'in-process': (shop) => shop.mutex.runExclusive(() => sellOne(shop)),

  async setnx(shop) {
    const { redis } = shop;
    if ((await redis.setnx('lock', '123')) === 0) return 'busy';
    try {
      return await sellOne(shop);
    } finally {
      await redis.del('lock');
    }
  },

  async 'setnx-expire'(shop) {
    const { redis, leaseMs } = shop;
    if ((await redis.setnx('lock', '123')) === 0) return 'busy';
    await redis.pexpire('lock', leaseMs);
    try {
      return await sellOne(shop);
    } finally {
      await redis.del('lock');
    }
  },

  async 'set-nx-px'(shop) {
    const { redis, leaseMs } = shop;
    if ((await redis.set('lock', '123', 'PX', leaseMs, 'NX')) === null) return 'busy';
    try {
      return await sellOne(shop);
    } finally {
      await redis.del('lock');
    }
  },

  async 'owner-check'(shop) {
    const { redis, leaseMs, uuid } = shop;
    const me = uuid();
    if ((await redis.set('lock', me, 'PX', leaseMs, 'NX')) === null) return 'busy';
    try {
      return await sellOne(shop);
    } finally {
      if ((await redis.get('lock')) === me) {
        await redis.del('lock');
      }
    }
  },

  async 'lua-release'(shop) {
    const { redis, leaseMs, uuid } = shop;
    const me = uuid();
    if ((await redis.set('lock', me, 'PX', leaseMs, 'NX')) === null) return 'busy';
    try {
      return await sellOne(shop);
    } finally {
      await redis.eval(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end " +
          'return 0',
        'lock',
        me,
      );
    }
  },

  'lock-unchecked': (shop) => shop.locks.using('lock', () => sellOne(shop)),

  lock: (shop) => shop.locks.using('lock', (lease) => sellOne(shop, asserted(shop, lease))),

  fair: (shop) => shop.fairLocks.using('lock', (lease) => sellOne(shop, asserted(shop, lease))),

  'write-lock': (shop) =>
    shop.writeLocks.using('lock', (lease) => sellOne(shop, asserted(shop, lease))),

  'fenced-late': (shop) =>
    shop.locks.using('lock', (lease) => sellOne(shop, guarded(shop, lease)), { fenced: true }),

  fenced: (shop) =>
    shop.locks.using(
      'lock',
      async (lease) => {
        // From here on, Redis refuses the writes of earlier holders: before the stock is read.
        await shop.guard.write(lease.fencingToken, 'sale', 'hset', 'seller', shop.uuid());
        return sellOne(shop, guarded(shop, lease));
      },
      { fenced: true },
    ),
};
