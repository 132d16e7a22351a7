import { describe, expect, it } from '@jest/globals';
import {
  LeaseLostError,
  LockError,
  LockNestingError,
  LockStateError,
  type Lock,
  type ReadWriteLockService,
} from 'nestjs-redis-lock/core';
import { eventually } from '../support/eventually.js';
import type { OpenLocks } from '../support/lock-client.js';
import { Gate, roundTrips, Section, watch, type Stage } from './suite.js';

/** How the two sides of a read-write lock go together. */
export function describeReadWriteBehaviour({
  redis,
  open,
}: {
  readonly redis: Stage;
  readonly open: OpenLocks<ReadWriteLockService>;
}): void {
  const lockOf = () => open().locks.get('a');
  const isFree = async () => {
    const lease = await lockOf().write.tryAcquire();
    await lease?.release();
    return lease !== null;
  };

  describe('tokens of writers', () => {
    it('rise with every write, also in nested calls', async () => {
      const { write } = lockOf();
      const tokens: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        await write.using(
          async (outer) => {
            tokens.push(outer.fencingToken ?? NaN);
            await write.using((inner) => tokens.push(inner.fencingToken ?? NaN), { fenced: true });
            await write.using((inner) => {
              expect(inner.fencingToken).toBe(outer.fencingToken);
            });
          },
          { fenced: true },
        );
      }
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      expect(tokens).toHaveLength(6);
    });
  });

  describe('a hold that Redis has lost', () => {
    it('of a reader ends with the grant of a writer in its process', async () => {
      const client = open();
      const { read, write } = client.locks.get('a');
      const readers = [await read.acquire(), await read.acquire({ leaseTimeMs: 60_000 })];
      const other = await client.locks.get('b').read.acquire();
      await redis.admin.del('a');
      const writer = await write.acquire();
      for (const reader of readers) expect(() => reader.assertHeld()).toThrow(LeaseLostError);
      expect(other.state).toBe('held');
      expect(client.eventsOf('lost')).toHaveLength(2);
      await writer.release();
    });

    it('of a writer ends with the grant of a reader in its process, which is none of its own', async () => {
      const client = open();
      const { read, write } = client.locks.get('a');
      const writing = write.using(
        async (writer) => {
          await read.using(() => {
            writer.assertHeld();
          });
          await redis.admin.del('a');
          await read.using(() => {
            writer.assertHeld();
          });
        },
        { leaseTimeMs: 60_000 },
      );
      await expect(writing).rejects.toThrow(LeaseLostError);
      const writer = await write.acquire({ leaseTimeMs: 60_000 });
      await redis.admin.del('a');
      const reader = await read.acquire();
      expect(() => {
        writer.assertHeld();
      }).toThrow(LeaseLostError);
      reader.assertHeld();
      await reader.release();
    });
  });

  describe('readers', () => {
    it('keep what the longest of their holds was promised when it is released', async () => {
      const { read } = lockOf();
      await read.using(
        async (lease) => {
          await read.using(() => undefined, { leaseTimeMs: 60_000 });
          expect(lease.remainingMs).toBeGreaterThan(50_000);
          expect(await lockOf().read.remainingTimeMs()).toBeGreaterThan(50_000);
        },
        { leaseTimeMs: 5_000 },
      );
    });

    it('wait behind a writer that waits, and go before the next one', async () => {
      const locks = [lockOf(), lockOf(), lockOf()] as const;
      await Promise.all(locks.map(({ read }) => read.isLocked()));
      const [ours, others, third] = locks;
      const order: string[] = [];
      const enter = (name: string, { using }: Lock, work: () => unknown = () => undefined) =>
        using(
          () => {
            order.push(name);
            return work();
          },
          { waitTimeMs: 60_000 },
        );
      const reading = await ours.read.acquire();
      const writing = enter('writer', others.write, () => roundTrips(redis, 3));
      // It listens when it was refused, and is remembered.
      await eventually(async () => (await redis.wakeUpChannels()).length === 1);
      const readers = locks.map(({ read }) => enter('reader', read));
      await roundTrips(redis, 3);
      const next = enter('writer', third.write, () => roundTrips(redis, 3));
      await roundTrips(redis, 3);
      expect(order).toEqual([]);
      await reading.release();
      await Promise.all([writing, ...readers, next]);
      expect(order).toEqual(['writer', 'reader', 'reader', 'reader', 'writer']);
    });

    it('outside a scope are owners of their own', async () => {
      const { read } = lockOf();
      const leases = await Promise.all([read.acquire(), read.acquire(), read.acquire()]);
      expect(new Set(leases.map(({ owner }) => owner)).size).toBe(3);
      expect(leases.map(({ holdCount }) => holdCount)).toEqual([1, 1, 1]);
      for (const lease of leases) await lease.release();
    });
  });

  describe('an upgrade', () => {
    it('is refused at once, by every verb, and nothing is sent', async () => {
      const { read, write } = lockOf();
      await read.using(async () => {
        const sent = await redis.commandsDuring(async () => {
          await expect(write.acquire()).rejects.toThrow(LockStateError);
          await expect(write.tryAcquire()).rejects.toMatchObject({ lockName: 'a' });
          await expect(write.using(() => 1, { waitTimeMs: Infinity })).rejects.toThrow(
            'The read lock "a" cannot become a write lock',
          );
        });
        expect(sent).toEqual({});
      });
    });

    it('is none when the scope of the read is over, or was of another name or connection', async () => {
      const client = open();
      const { read, write } = client.locks.get('a');
      await read.using(async (lease) => {
        await client.locks.get('b').write.using(() => undefined);
        expect(await lockOf().write.tryAcquire()).toBeNull();
        await lease.release();
        await write.using(() => undefined);
      });
    });

    it('is what a nested write becomes when its outer write is released while it waits', async () => {
      const { read, write } = lockOf();
      await write.using((outer) =>
        read.using(async () => {
          const sibling = await write.acquire();
          const nested = watch(write.acquire({ waitTimeMs: Infinity }));
          await outer.release();
          await sibling.release();
          await expect(nested.promise).rejects.toThrow(LockStateError);
        }),
      );
    });

    it('is none inside a write: the call joins that', async () => {
      const { read, write } = lockOf();
      await write.using(({ owner }) =>
        read.using(() =>
          write.using((lease) => {
            expect(lease).toMatchObject({ owner, holdCount: 2 });
          }),
        ),
      );
      expect(await isFree()).toBe(true);
    });
  });

  describe('with nesting, the two sides', () => {
    it('are one lock for "refuse": each is refused inside of the other, and inside of itself', async () => {
      const client = open({ nesting: 'refuse' });
      const { read, write } = client.locks.get('a');
      for (const outer of [read, write]) {
        await outer.using(async () => {
          const sent = await redis.commandsDuring(async () => {
            await expect(read.tryAcquire()).rejects.toThrow(LockNestingError);
            await expect(write.tryAcquire()).rejects.toThrow(LockNestingError);
          });
          expect(sent).toEqual({});
        });
      }
    });

    it('wait for each other as two owners do for "wait", and readers share it', async () => {
      const client = open({ nesting: 'wait' });
      const { read, write } = client.locks.get('a');
      await write.using(async () => {
        expect(await read.tryAcquire()).toBeNull();
        await expect(read.acquire({ waitTimeMs: 60 })).rejects.toMatchObject({
          blockedBy: 'surrounding',
        });
      });
      await read.using(async (outer) => {
        expect(await write.tryAcquire()).toBeNull();
        await read.using((inner) => {
          expect(inner.owner).not.toBe(outer.owner);
        });
      });
      expect(await isFree()).toBe(true);
    });
  });

  describe('a writer that reads', () => {
    it('reads as an owner of its own, beside itself', async () => {
      const { read, write } = lockOf();
      await write.using(async (writing) => {
        const leases = await Promise.all([read.acquire(), read.acquire()]);
        for (const lease of leases) {
          expect(lease.owner).not.toBe(writing.owner);
          expect(lease.holdCount).toBe(1);
        }
        expect(await lockOf().read.tryAcquire()).toBeNull();
        for (const lease of leases) await lease.release();
      });
    });

    it('is renewed as a writer after the end of its read', async () => {
      const client = open({ watchdogLeaseMs: 1_800 });
      const { read, write } = client.locks.get('a');
      await write.using(async (lease) => {
        await read.using(() => undefined);
        const renewals = client.eventsOf('renewed').length;
        await eventually(() => client.eventsOf('renewed').length >= renewals + 4);
        lease.assertHeld();
        expect(await lockOf().read.tryAcquire()).toBeNull();
      });
    });

    it('lets others read when its write ends by its lease, however long it reads itself', async () => {
      const { read, write } = lockOf();
      const work = write.using(
        async (writing) => {
          const reading = await read.acquire();
          await eventually(() => writing.state === 'lost');
          await (await lockOf().read.acquire()).release();
          reading.assertHeld();
          await reading.release();
        },
        { leaseTimeMs: 300 },
      );
      await expect(work).rejects.toThrow(LeaseLostError);
    });

    it('is refused as soon as the write is known to be lost', async () => {
      const client = open({ watchdogLeaseMs: 300 });
      const { read, write } = client.locks.get('a');
      const work = write.using(async (lease) => {
        await lockOf().write.forceRelease();
        await eventually(() => lease.state === 'lost');
        const sent = await redis.commandsDuring(() =>
          expect(read.acquire()).rejects.toThrow(LeaseLostError),
        );
        // A renewal may have been on its way.
        expect(sent).not.toHaveProperty('hget');
      });
      await expect(work).rejects.toThrow(LeaseLostError);
    });

    it('waits like any caller when the write is lost and it does not know yet', async () => {
      const [ours, others] = [lockOf(), lockOf()];
      const work = ours.write.using(async () => {
        await others.write.forceRelease();
        const foreign = await others.write.acquire();
        const reading = watch(ours.read.acquire());
        await roundTrips(redis, 5);
        expect(reading.state).toBe('pending');
        await foreign.release();
        await (await reading.promise).release();
      });
      await expect(work).rejects.toThrow(LeaseLostError);
    });

    it('reads while its application gives it the time to finish, and not after that', async () => {
      const client = open();
      const { read, write } = client.locks.get('a');
      const [begins, goesOn] = [new Gate(), new Gate()];
      const writing = write.using(async () => {
        await begins.opened;
        const value = await read.using(() => 'read');
        await goesOn.opened;
        return [value, await read.using(() => 'late').catch((error: unknown) => error)];
      });
      await eventually(() => client.eventsOf('acquired').length === 1);
      const draining = client.context.drain();
      begins.open();
      await eventually(() => client.eventsOf('released').length === 1);
      const closing = client.close();
      goesOn.open();
      await expect(writing).rejects.toMatchObject({
        reason: 'shutdown',
        result: ['read', expect.any(LockError)],
      });
      await Promise.all([draining, closing]);
    });

    it('goes on reading without a gap: no other writer gets in between', async () => {
      const { read, write } = lockOf();
      const others = open();
      const section = new Section();
      let isDone = false;
      const rivals = Promise.all(
        [1, 2].map(async () => {
          while (!isDone) {
            await others.locks.get('a').write.using(() => section.run(() => undefined));
            await roundTrips(redis, 1);
          }
        }),
      );
      for (let round = 0; round < 20; round += 1) {
        const reading = await write.using(() => read.acquire());
        const before = section.entries;
        await roundTrips(redis, 2);
        reading.assertHeld();
        expect(section.entries).toBe(before);
        await reading.release();
      }
      isDone = true;
      await rivals;
      expect(section.entries).toBeGreaterThan(0);
    });

    it('frees the lock with its last hold, whichever that is', async () => {
      const { read, write } = lockOf();
      const reading = await write.using(() => read.using(() => read.acquire()));
      expect(reading.holdCount).toBe(2);
      reading.assertHeld();
      await reading.release();
      expect(await isFree()).toBe(true);
    });
  });
}
