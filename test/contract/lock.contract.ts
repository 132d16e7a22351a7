import { describe } from '@jest/globals';
import { describeCrash } from './crash.contract.js';
import { describeExclusion, describeOutage, describeWaiting } from './exclusion.contract.js';
import { describeLoss } from './loss.contract.js';
import { describeReentrancy } from './reentrancy.contract.js';
import { describeRelease } from './release.contract.js';
import type { LockSuite } from './suite.js';

/** Everything that each kind of exclusive lock promises. */
export function describeLockContract(kind: string, suite: LockSuite): void {
  describe(kind, () => {
    describeExclusion(suite);
    describeWaiting(suite);
    describeOutage(suite);
    describeReentrancy(suite);
    describeRelease(suite);
    describeLoss(suite);
    describeCrash(suite);
  });
}
