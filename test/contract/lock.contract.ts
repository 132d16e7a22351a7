import { describe } from '@jest/globals';
import { describeCrash } from './crash.contract.js';
import {
  describeExclusion,
  describeOneAtATime,
  describeOutage,
  describeWaiting,
} from './exclusion.contract.js';
import { describeLoss } from './loss.contract.js';
import { describeReentrancy, describeSiblings } from './reentrancy.contract.js';
import { describePatience, describeRelease } from './release.contract.js';
import type { LockSuite } from './suite.js';

/** Everything that each kind of exclusive lock promises. */
export function describeLockContract(kind: string, suite: LockSuite): void {
  describe(kind, () => {
    describeWhatAllPromise(suite);
    describeOneAtATime(suite);
    describeSiblings(suite);
    describePatience(suite);
  });
}

/** Everything that is promised also by a lock that many may hold at a time. */
export function describeSharedLockContract(
  kind: string,
  suite: LockSuite & Required<Pick<LockSuite, 'openRival'>>,
): void {
  describe(kind, () => {
    describeWhatAllPromise(suite);
  });
}

function describeWhatAllPromise(suite: LockSuite): void {
  describeExclusion(suite);
  describeWaiting(suite);
  describeOutage(suite);
  describeReentrancy(suite);
  describeRelease(suite);
  describeLoss(suite);
  describeCrash(suite);
}
