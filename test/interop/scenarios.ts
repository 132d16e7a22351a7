import { MS } from './sides.js';
import type { Stage } from './stage.js';

/** What is played by Redisson alone, per primitive; the lock is called `a`. */
export type Scenarios = Readonly<Record<string, Scenario>>;
export type Scenario = (stage: Stage) => Promise<void>;

const QUEUE_TIMES = 'redisson_lock_timeout:{a}';
const PERMIT_TIMES = '{a}:timeout';

const lock: Scenarios = {
  'taken, entered again, given back': async (stage) => {
    await stage.call('A', 'lock', 'lock');
    await stage.call('A', 'lock', 'lock');
    await stage.call('B', 'lock', 'tryLock');
    await stage.call('A', 'lock', 'unlock');
    await stage.call('B', 'lock', 'unlock');
    await stage.call('A', 'lock', 'unlock');
    await stage.call('A', 'lock', 'unlock');
  },
  'with a lease of its own': async (stage) => {
    await stage.call('A', 'lock', 'tryLock', 0, 60_000, MS);
    await stage.call('A', 'lock', 'tryLock', 0, 20_000, MS);
    await stage.call('A', 'lock', 'unlock');
    await stage.call('A', 'lock', 'unlock');
  },
  'waited for': async (stage) => {
    await stage.call('A', 'lock', 'lock');
    await stage.waits('B', 'lock', 'lock');
    stage.pause('B');
    await stage.call('A', 'lock', 'unlock');
    await stage.goesOn('B');
    await stage.call('B', 'lock', 'unlock');
  },
  'ended by its lease': async (stage) => {
    await stage.call('A', 'lock', 'tryLock', 0, 20_000, MS);
    await stage.ends('a');
    await stage.call('B', 'lock', 'tryLock');
    await stage.call('A', 'lock', 'unlock');
    await stage.call('B', 'lock', 'unlock');
  },
  'ended by force': async (stage) => {
    await stage.call('A', 'lock', 'lock');
    await stage.call('A', 'lock', 'lock');
    await stage.call('B', 'lock', 'forceUnlock');
    await stage.call('B', 'lock', 'forceUnlock');
    await stage.call('A', 'lock', 'unlock');
  },
};

const fairLock: Scenarios = {
  'taken, entered again, given back': async (stage) => {
    await stage.call('A', 'fairLock', 'lock');
    await stage.call('A', 'fairLock', 'lock');
    await stage.call('B', 'fairLock', 'tryLock');
    await stage.call('A', 'fairLock', 'unlock');
    await stage.call('A', 'fairLock', 'unlock');
  },
  'two wait, and get in by their turn': async (stage) => {
    await stage.call('A', 'fairLock', 'lock');
    await stage.waits('B', 'fairLock', 'lock');
    await stage.waits('C', 'fairLock', 'tryLock', 60_000, MS);
    await stage.call('D', 'fairLock', 'tryLock');
    stage.pause('B');
    await stage.call('A', 'fairLock', 'unlock');
    await stage.call('D', 'fairLock', 'tryLock');
    await stage.goesOn('B');
    stage.pause('C');
    await stage.call('B', 'fairLock', 'unlock');
    await stage.goesOn('C');
    await stage.call('C', 'fairLock', 'unlock');
  },
  'the first in the queue gives up': async (stage) => {
    await stage.call('A', 'fairLock', 'lock');
    await stage.waits('C', 'fairLock', 'tryLock', 3_000, MS);
    await stage.waits('B', 'fairLock', 'lock');
    await stage.goesOn('C');
    stage.pause('B');
    await stage.call('A', 'fairLock', 'unlock');
    await stage.goesOn('B');
    await stage.call('B', 'fairLock', 'unlock');
  },
  'the first in the queue is dead': async (stage) => {
    await stage.call('A', 'fairLock', 'tryLock', 0, 5_000, MS);
    await stage.waits('B', 'fairLock', 'lock');
    stage.pause('B');
    await stage.lapses(QUEUE_TIMES, '<B>');
    await stage.call('A', 'fairLock', 'unlock');
    await stage.call('C', 'fairLock', 'tryLock');
    await stage.call('C', 'fairLock', 'unlock');
    await stage.goesOn('B');
    await stage.call('B', 'fairLock', 'unlock');
  },
  'ended by its lease, and given back late': async (stage) => {
    await stage.call('A', 'fairLock', 'tryLock', 0, 20_000, MS);
    await stage.waits('B', 'fairLock', 'lock');
    stage.pause('B');
    await stage.ends('a');
    await stage.call('A', 'fairLock', 'unlock');
    await stage.goesOn('B');
    await stage.call('B', 'fairLock', 'unlock');
  },
  'ended by force': async (stage) => {
    await stage.call('A', 'fairLock', 'lock');
    await stage.waits('B', 'fairLock', 'lock');
    stage.pause('B');
    await stage.call('C', 'fairLock', 'forceUnlock');
    await stage.call('C', 'fairLock', 'forceUnlock');
    await stage.goesOn('B');
    await stage.call('B', 'fairLock', 'unlock');
  },
};

const readWriteLock: Scenarios = {
  'two readers': async (stage) => {
    await stage.call('A', 'readLock', 'lock');
    await stage.call('B', 'readLock', 'lock');
    await stage.call('A', 'readLock', 'lock');
    await stage.call('C', 'writeLock', 'tryLock');
    await stage.call('A', 'writeLock', 'tryLock');
    await stage.call('A', 'readLock', 'unlock');
    await stage.call('A', 'readLock', 'unlock');
    await stage.call('A', 'readLock', 'unlock');
    await stage.call('B', 'readLock', 'unlock');
  },
  'readers with leases of their own': async (stage) => {
    await stage.call('A', 'readLock', 'tryLock', 0, 60_000, MS);
    await stage.call('B', 'readLock', 'tryLock', 0, 20_000, MS);
    await stage.call('A', 'readLock', 'unlock');
    await stage.call('B', 'readLock', 'unlock');
  },
  'a dead reader': async (stage) => {
    await stage.call('A', 'readLock', 'tryLock', 0, 60_000, MS);
    await stage.call('B', 'readLock', 'tryLock', 0, 20_000, MS);
    await stage.ends('{a}:<B>:rwlock_timeout:1');
    await stage.call('A', 'readLock', 'unlock');
  },
  'a writer': async (stage) => {
    await stage.call('A', 'writeLock', 'lock');
    await stage.call('A', 'writeLock', 'lock');
    await stage.call('B', 'writeLock', 'tryLock');
    await stage.call('B', 'readLock', 'tryLock');
    await stage.call('A', 'writeLock', 'unlock');
    await stage.call('A', 'writeLock', 'unlock');
    await stage.call('A', 'writeLock', 'unlock');
  },
  'a writer reads, and goes on as a reader': async (stage) => {
    await stage.call('A', 'writeLock', 'lock');
    await stage.call('A', 'readLock', 'lock');
    await stage.call('B', 'readLock', 'tryLock');
    await stage.call('A', 'writeLock', 'unlock');
    await stage.call('B', 'readLock', 'tryLock');
    await stage.call('A', 'readLock', 'unlock');
    await stage.call('B', 'readLock', 'unlock');
  },
  'a writer reads, and goes on as a writer': async (stage) => {
    await stage.call('A', 'writeLock', 'lock');
    await stage.call('A', 'readLock', 'lock');
    await stage.call('A', 'readLock', 'unlock');
    await stage.call('A', 'writeLock', 'unlock');
  },
  'waited for': async (stage) => {
    await stage.call('A', 'writeLock', 'lock');
    await stage.waits('B', 'readLock', 'lock');
    stage.pause('B');
    await stage.call('A', 'writeLock', 'unlock');
    await stage.goesOn('B');
    await stage.waits('C', 'writeLock', 'lock');
    stage.pause('C');
    await stage.call('B', 'readLock', 'unlock');
    await stage.goesOn('C');
    await stage.call('C', 'writeLock', 'unlock');
  },
  'ended by force': async (stage) => {
    await stage.call('A', 'readLock', 'lock');
    await stage.call('C', 'writeLock', 'forceUnlock');
    await stage.call('C', 'readLock', 'forceUnlock');
    await stage.call('A', 'writeLock', 'lock');
    await stage.call('C', 'readLock', 'forceUnlock');
    await stage.call('C', 'writeLock', 'forceUnlock');
    await stage.call('C', 'writeLock', 'forceUnlock');
  },
};

const semaphore: Scenarios = {
  'set, acquired, released': async (stage) => {
    await stage.call('A', 'semaphore', 'tryAcquire');
    await stage.call('A', 'semaphore', 'trySetPermits', 3);
    await stage.call('A', 'semaphore', 'trySetPermits', 5);
    await stage.call('A', 'semaphore', 'acquire', 2);
    await stage.call('A', 'semaphore', 'tryAcquire', 2);
    await stage.call('A', 'semaphore', 'tryAcquire');
    await stage.call('A', 'semaphore', 'release');
    await stage.call('A', 'semaphore', 'release', 2);
    await stage.call('A', 'semaphore', 'availablePermits');
  },
  'waited for': async (stage) => {
    await stage.call('A', 'semaphore', 'trySetPermits', 1);
    await stage.waits('B', 'semaphore', 'acquire', 3);
    await stage.call('A', 'semaphore', 'release');
    stage.pause('B');
    await stage.call('A', 'semaphore', 'release');
    await stage.goesOn('B');
  },
  'more permits, fewer permits, none': async (stage) => {
    await stage.call('A', 'semaphore', 'trySetPermits', 1);
    await stage.call('A', 'semaphore', 'addPermits', 4);
    await stage.call('A', 'semaphore', 'addPermits', -2);
    await stage.call('A', 'semaphore', 'drainPermits');
    await stage.call('A', 'semaphore', 'drainPermits');
    await stage.call('A', 'semaphore', 'addPermits', -1);
  },
  'released before it is set': async (stage) => {
    await stage.call('A', 'semaphore', 'release', 2);
    await stage.call('A', 'semaphore', 'trySetPermits', 5);
  },
  'released if it exists': async (stage) => {
    await stage.call('A', 'semaphore', 'releaseIfExists', 2);
    await stage.call('A', 'semaphore', 'trySetPermits', 1);
    await stage.call('A', 'semaphore', 'releaseIfExists', 2);
  },
};

const permits = 'permitExpirableSemaphore';
const expirableSemaphore: Scenarios = {
  'set, acquired, released': async (stage) => {
    await stage.call('A', permits, 'tryAcquire');
    await stage.call('A', permits, 'trySetPermits', 3);
    await stage.call('A', permits, 'trySetPermits', 5);
    await stage.call('A', permits, 'acquire');
    await stage.call('A', permits, 'acquire', 60_000, MS);
    await stage.call('A', permits, 'availablePermits');
    await stage.call('A', permits, 'updateLeaseTime', '<permit 2>', 20_000, MS);
    await stage.call('B', permits, 'release', '<permit 1>');
    await stage.call('B', permits, 'tryRelease', '<permit 1>');
    await stage.call('B', permits, 'tryRelease', '<permit 2>');
  },
  'ended by their lease': async (stage) => {
    await stage.call('A', permits, 'trySetPermits', 2);
    await stage.call('A', permits, 'acquire', 20_000, MS);
    await stage.call('A', permits, 'acquire', 20_000, MS);
    await stage.lapses(PERMIT_TIMES, '<permit 1>');
    await stage.call('B', permits, 'tryAcquire', 0, 60_000, MS);
    await stage.call('A', permits, 'tryRelease', '<permit 1>');
    await stage.lapses(PERMIT_TIMES, '<permit 2>');
    await stage.call('A', permits, 'tryRelease', '<permit 2>');
    await stage.lapses(PERMIT_TIMES, '<permit 3>');
    await stage.call('A', permits, 'availablePermits');
  },
  'waited for': async (stage) => {
    await stage.call('A', permits, 'trySetPermits', 1);
    await stage.call('A', permits, 'acquire');
    await stage.waits('B', permits, 'acquire');
    stage.pause('B');
    await stage.call('A', permits, 'release', '<permit 1>');
    await stage.goesOn('B');
    await stage.call('B', permits, 'release', '<permit 2>');
  },
  'more permits': async (stage) => {
    await stage.call('A', permits, 'addPermits', 2);
    await stage.call('A', permits, 'acquire');
    await stage.call('A', permits, 'addPermits', 3);
    await stage.call('A', permits, 'addPermits', -1);
  },
  'another capacity, while some are held': async (stage) => {
    await stage.call('A', permits, 'setPermits', 3);
    await stage.call('A', permits, 'acquire');
    await stage.call('A', permits, 'acquire');
    await stage.call('A', permits, 'setPermits', 5);
    await stage.call('A', permits, 'getPermits');
    await stage.call('A', permits, 'acquiredPermits');
    await stage.call('A', permits, 'setPermits', 1);
    await stage.call('A', permits, 'availablePermits');
    await stage.call('A', permits, 'tryRelease', '<permit 1>');
    await stage.call('A', permits, 'tryRelease', '<permit 2>');
  },
  'several at once': async (stage) => {
    await stage.call('A', permits, 'trySetPermits', 3);
    await stage.call('A', permits, 'acquire', 2);
    await stage.call('B', permits, 'tryAcquire', 2);
    await stage.call('B', permits, 'acquire', 1, 60_000, MS);
    await stage.call('A', permits, 'tryRelease', ['<permit 1>', '0'.repeat(32)]);
    await stage.call('A', permits, 'tryRelease', ['<permit 1>', '<permit 2>']);
    await stage.call('B', permits, 'getLeaseTime', '<permit 1>');
    await stage.call('B', permits, 'tryRelease', ['<permit 3>']);
  },
};

const countDownLatch: Scenarios = {
  'set, counted down, opened': async (stage) => {
    await stage.call('A', 'countDownLatch', 'trySetCount', 2);
    await stage.call('A', 'countDownLatch', 'trySetCount', 3);
    await stage.call('A', 'countDownLatch', 'countDown');
    await stage.call('A', 'countDownLatch', 'getCount');
    await stage.waits('B', 'countDownLatch', 'await');
    stage.pause('B');
    await stage.call('A', 'countDownLatch', 'countDown');
    await stage.goesOn('B');
    await stage.call('A', 'countDownLatch', 'countDown');
    await stage.call('A', 'countDownLatch', 'getCount');
    await stage.call('A', 'countDownLatch', 'trySetCount', 1);
  },
  deleted: async (stage) => {
    await stage.call('A', 'countDownLatch', 'trySetCount', 2);
    await stage.call('A', 'countDownLatch', 'delete');
    await stage.call('A', 'countDownLatch', 'delete');
    await stage.call('A', 'countDownLatch', 'await', 1, MS);
  },
};

const fencedLock: Scenarios = {
  'a token for each grant': async (stage) => {
    await stage.call('A', 'fencedLock', 'lockAndGetToken');
    await stage.call('A', 'fencedLock', 'lock');
    await stage.call('A', 'fencedLock', 'getToken');
    await stage.call('B', 'fencedLock', 'tryLock');
    await stage.call('B', 'fencedLock', 'tryLockAndGetToken', 0, 20_000, MS);
    await stage.call('A', 'fencedLock', 'unlock');
    await stage.call('A', 'fencedLock', 'unlock');
    await stage.call('B', 'fencedLock', 'tryLockAndGetToken', 0, 20_000, MS);
    await stage.call('B', 'fencedLock', 'unlock');
  },
  'a token after a release by force': async (stage) => {
    await stage.call('A', 'fencedLock', 'lockAndGetToken');
    await stage.call('B', 'fencedLock', 'forceUnlock');
    await stage.call('B', 'fencedLock', 'lockAndGetToken');
    await stage.call('B', 'fencedLock', 'unlock');
  },
};

const both = ['multiLock', ['a', 'b']] as const;
const multiLock: Scenarios = {
  'both are taken and given back': async (stage) => {
    await stage.call('A', both, 'lock');
    await stage.call('A', both, 'tryLock');
    await stage.call('A', both, 'unlock');
    await stage.call('A', both, 'unlock');
  },
  'with a lease of its own': async (stage) => {
    await stage.call('A', both, 'tryLock', 5_000, 60_000, MS);
    await stage.call('A', both, 'unlock');
  },
  'one of them is taken': async (stage) => {
    await stage.call('B', ['lock', 'b'], 'lock');
    await stage.call('A', both, 'tryLock');
    await stage.call('B', ['lock', 'b'], 'unlock');
  },
};

export const SCENARIOS: Readonly<Record<string, Scenarios>> = {
  lock,
  'fair-lock': fairLock,
  'read-write-lock': readWriteLock,
  semaphore,
  'expirable-semaphore': expirableSemaphore,
  'count-down-latch': countDownLatch,
  'fenced-lock': fencedLock,
  'multi-lock': multiLock,
};
