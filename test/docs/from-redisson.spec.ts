import { describe, expect, it } from '@jest/globals';
import { pageOf } from '../support/proofs.js';

/** The methods of Redisson 4.7's interfaces. Each `…Async` twin has the same name. */
const METHODS = {
  RLock:
    'lock lockInterruptibly tryLock unlock forceUnlock isLocked isHeldByThread isHeldByCurrentThread ' +
    'getHoldCount remainTimeToLive getName newCondition addListener removeListener lockAsync ' +
    'getLock getSpinLock getNonReentrantLock',
  RFairLock: 'getFairLock getNonReentrantFairLock',
  RReadWriteLock: 'getReadWriteLock readLock writeLock',
  RFencedLock: 'getFencedLock getToken lockAndGetToken tryLockAndGetToken',
  RPermitExpirableSemaphore:
    'acquire tryAcquire release tryRelease availablePermits getPermits acquiredPermits ' +
    'trySetPermits setPermits addPermits updateLeaseTime getLeaseTime',
  RSemaphore:
    'acquire tryAcquire release releaseIfExists availablePermits drainPermits trySetPermits addPermits',
  RCountDownLatch: 'await countDown getCount trySetCount',
  'RExpirable and RObject':
    'expire expireAt expireIfSet expireIfNotSet expireIfGreater expireIfLess clearExpire ' +
    'remainTimeToLive getExpireTime getIdleTime getReferenceCount getAccessFrequency ' +
    'getInternalEncoding sizeInMemory restore restoreAndReplace dump touch migrate copy ' +
    'copyAndReplace move getName delete unlink rename renamenx isExists getCodec addListener ' +
    'removeListener',
  'RedissonMultiLock and RedissonRedLock': 'getMultiLock getRedLock',
};

describe('docs/from-redisson.md', () => {
  /** By the heading of a section, or by the heading of a table where a section has two. */
  const rows = new Map<string, [theirs: string, ours: string][]>();
  let place = '';
  const pages = ['docs/from-redisson.md', 'docs/internals/from-redisson.md'].map(pageOf);
  for (const line of pages.join('\n').split('\n')) {
    place = /^## (.*)/.exec(line)?.[1] ?? /^\| `(R\w+)` +\|/.exec(line)?.[1] ?? place;
    if (!line.startsWith('|')) continue;
    const [, theirs = '', ours = ''] = line.split('|').map((cell) => cell.trim());
    if (!theirs.startsWith('-')) {
      rows.set(place, [...(rows.get(place) ?? []), [theirs, ours]]);
    }
  }

  it.each(Object.entries(METHODS))('has every method of %s', (name, methods) => {
    const theirs = rows.get(name)?.map(([cell]) => cell) ?? [];
    const isThere = (method: string) =>
      theirs.some((cell) => new RegExp(`\\b${method}\\(`).test(cell));
    expect(methods.split(' ').filter((method) => !isThere(method))).toEqual([]);
  });

  it('says of each what takes its place, or why nothing does', () => {
    const all = [...rows.values()].flat();
    expect(all.length).toBeGreaterThan(80);
    expect(all.filter(([, ours]) => ours.length < 4)).toEqual([]);
  });
});
