import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { LockFamily } from 'nestjs-redis-lock';
import { LockTesting } from 'nestjs-redis-lock/testing';

let here: LockTesting;
let there: LockTesting;
let ours: LockFamily;
let theirs: LockFamily;

beforeEach(() => {
  here = new LockTesting();
  there = new LockTesting({ beside: here });
  ours = here.openLocks();
  theirs = there.openLocks();
});
afterEach(() => Promise.all([ours.close(), theirs.close()]));

it('hands the lock over to the other process', async () => {
  const lease = await theirs.lock.get('report').acquire();
  const acquiring = ours.lock.get('report').acquire();
  await here.clock.advance(5_000);
  await lease.release();
  await (await acquiring).release();
});

it('acquires the lock of a process that has crashed', async () => {
  await theirs.lock.get('report').acquire();
  there.crash();
  await expect(ours.lock.get('report').tryAcquire()).resolves.toBeNull();
  await here.clock.advance(31_000);
  await expect(ours.lock.get('report').tryAcquire()).resolves.not.toBeNull();
});
