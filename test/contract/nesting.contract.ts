import { describe, expect, it } from '@jest/globals';
import {
  CurrentLock,
  LockNestingError,
  LockTimeoutError,
  type Lease,
} from 'nestjs-redis-lock/core';
import { roundTrips, watch, type LockSuite } from './suite.js';

/** Some kinds of lock have their verbs in another file of the specs. */
const HERE = '/test/';

/** A call inside of a hold of its own lock does this instead of joining it. */
export function describeNesting({ redis, open }: LockSuite): void {
  describe('nesting: "refuse"', () => {
    it('refuses every verb at once, sends nothing, and names both places', async () => {
      const { locks } = open({ nesting: 'refuse' });
      await locks.using('a', async (lease) => {
        const errors: unknown[] = [];
        const sent = await redis.commandsDuring(async () => {
          const calls = [
            locks.acquire('a'),
            locks.tryAcquire('a'),
            locks.using('a', () => 1, { waitTimeMs: Infinity }),
            locks.get('a').acquire(),
          ];
          for (const call of calls) errors.push(await call.catch((error: unknown) => error));
        });
        expect(sent).toEqual({});
        for (const error of errors) {
          expect(error).toBeInstanceOf(LockNestingError);
          expect(error).toMatchObject({ code: 'LOCK_NESTING' });
          const { acquiredAt, calledAt, message, cause } = error as LockNestingError;
          for (const place of [acquiredAt, calledAt]) {
            expect(place).toContain(HERE);
            expect(message).toContain(place);
          }
          expect((cause as Error).stack).toContain(acquiredAt);
        }
        const [{ acquiredAt, calledAt }] = errors as [LockNestingError];
        expect(acquiredAt).not.toBe(calledAt);
        lease.assertHeld();
      });
      expect(await locks.get('a').isLocked()).toBe(false);
    });

    it('refuses a call deep inside, but none for another name, and none outside', async () => {
      const { locks } = open({ nesting: 'refuse' });
      await locks.using('a', () =>
        locks.using('b', async () => {
          await expect(locks.using('a', () => 1)).rejects.toThrow(LockNestingError);
          await locks.using('c', () => undefined);
        }),
      );
      await locks.using('a', () => undefined);
    });

    it('can be the choice of a call or a profile, and the choice of a call goes first', async () => {
      const { locks } = open({ profiles: { strict: { nesting: 'refuse' } } });
      await locks.using('a', async ({ owner }) => {
        for (const options of [{ nesting: 'refuse' }, { profile: 'strict' }] as const) {
          const error = await locks.acquire('a', options).catch((e: unknown) => e);
          expect(error).toMatchObject({ code: 'LOCK_NESTING', acquiredAt: undefined });
          expect((error as LockNestingError).calledAt).toContain(HERE);
        }
        const joined = { nesting: 'join', profile: 'strict' } as const;
        await locks.using('a', (lease) => expect(lease.owner).toBe(owner), joined);
      });
    });

    it('looks for no place otherwise', async () => {
      expect(await placesOf(open({ nesting: 'refuse' }))).toBeGreaterThan(0);
      expect(await placesOf(open())).toBe(0);
      expect(await placesOf(open({ nesting: 'wait' }))).toBe(0);
    });
  });
}

/** How often a call for the lock sets out to keep its stack. */
async function placesOf({ locks }: ReturnType<LockSuite['open']>): Promise<number> {
  const { stackTraceLimit } = Error;
  let looks = 0;
  Object.defineProperty(Error, 'stackTraceLimit', {
    configurable: true,
    get: () => {
      looks += 1;
      return stackTraceLimit;
    },
    set: () => undefined,
  });
  try {
    await locks.using('a', () => undefined);
  } finally {
    Object.defineProperty(Error, 'stackTraceLimit', {
      ...{ configurable: true, enumerable: true, writable: true, value: stackTraceLimit },
    });
  }
  return looks;
}

/** Where one holder excludes all others, a call that does not join waits. */
export function describeNewOwners({ redis, open }: LockSuite): void {
  const expectNewOwner = async (inside: Promise<Lease>, outer: Lease) => {
    const lease = await inside;
    expect(lease.owner).not.toBe(outer.owner);
    expect(lease.holdCount).toBe(1);
    await lease.release();
  };

  describe('nesting: "wait"', () => {
    it('makes the call a new owner, which waits until the hold is over', async () => {
      const { locks } = open({ nesting: 'wait' });
      const started = await locks.using('a', async (outer) => {
        expect(await locks.tryAcquire('a')).toBeNull();
        const call = watch(locks.acquire('a', { waitTimeMs: 60_000 }));
        await roundTrips(redis, 4);
        expect(call.state).toBe('pending');
        return { outer, call: call.promise };
      });
      await expectNewOwner(started.call, started.outer);
      expect(await locks.get('a').isLocked()).toBe(false);
    });

    it('ends with the waiting time for a caller that awaits it, and the error says why', async () => {
      const { locks } = open();
      await locks.using('a', async (lease) => {
        const error = await locks
          .using('a', () => 1, { nesting: 'wait', waitTimeMs: 60 })
          .catch((e: unknown) => e);
        expect(error).toBeInstanceOf(LockTimeoutError);
        expect(error).toMatchObject({ blockedBy: 'surrounding' });
        expect((error as LockTimeoutError).holding).toContain(lease.name.split(', ')[0]);
        expect((error as Error).message).toContain("nesting is 'wait'");
        lease.assertHeld();
      });
    });
  });

  describe('CurrentLock.exit()', () => {
    it('runs work outside of every hold: no lease surrounds it, and its calls wait', async () => {
      const { locks } = open();
      const started = await locks.using('a', async (outer) => {
        const call = CurrentLock.exit(() => {
          expect(CurrentLock.find()).toBeUndefined();
          expect(CurrentLock.find(outer.name)).toBeUndefined();
          return watch(locks.acquire('a'));
        });
        expect(CurrentLock.find()).toBe(outer);
        await roundTrips(redis, 4);
        expect(call.state).toBe('pending');
        return { outer, call: call.promise };
      });
      await expectNewOwner(started.call, started.outer);
    });
  });

  describe('a timeout', () => {
    it('names the locks that surround the call, and advises on their order', async () => {
      const { locks } = open();
      const other = await locks.acquire('b');
      await locks.using('a', async ({ name }) => {
        const error = await locks.acquire('b', { waitTimeMs: 400 }).catch((e: unknown) => e);
        expect(error).toMatchObject({ blockedBy: 'other' });
        const { holding, message } = error as LockTimeoutError;
        expect(holding.join(', ')).toBe(name);
        expect(message).toContain('acquire locks in the same order everywhere');
        const outside = CurrentLock.exit(() => locks.acquire('b', { waitTimeMs: 400 }));
        await expect(outside).rejects.toMatchObject({ holding: [] });
      });
      await other.release();
    });

    it('ends two callers that take two locks in opposite order', async () => {
      const { locks } = open({ waitTimeMs: 400 });
      let inside = 0;
      const take = (first: string, second: string) =>
        locks.using(first, async () => {
          inside += 1;
          while (inside < 2) await roundTrips(redis, 1);
          await locks.using(second, () => undefined);
        });
      const ends = await Promise.allSettled([take('a', 'b'), take('b', 'a')]);
      const error: unknown = ends.find((end) => end.status === 'rejected')?.reason;
      expect(error).toBeInstanceOf(LockTimeoutError);
      const { lockName = '', holding } = error as LockTimeoutError;
      expect([lockName, ...holding].join(' ')).toMatch(/a.*b|b.*a/);
      expect(holding).not.toContain(lockName);
    });
  });
}
