import { describe } from '@jest/globals';
import { describeCrash } from './crash.contract.js';
import {
  describeExclusion,
  describeOneAtATime,
  describeOutage,
  describeWaiting,
} from './exclusion.contract.js';
import { describeLoss } from './loss.contract.js';
import { describeNesting, describeNewOwners } from './nesting.contract.js';
import { describeReentrancy, describeSiblings } from './reentrancy.contract.js';
import { describePatience, describeRelease } from './release.contract.js';
import type { LockSuite, ServerSuite } from './suite.js';

/** Everything that each kind of exclusive lock promises. */
export function describeLockContract(kind: string, suite: ServerSuite): void {
  describe(kind, () => {
    describeLockBehaviour(suite);
    describeCrash(suite);
  });
}

/** Everything that is promised also by a lock that many may hold at a time. */
export function describeSharedLockContract(
  kind: string,
  suite: ServerSuite & Required<Pick<LockSuite, 'openRival'>>,
): void {
  describe(kind, () => {
    describeSharedLockBehaviour(suite);
    describeCrash(suite);
  });
}

/** These specs need no real server. */
export function describeLockBehaviour(suite: LockSuite): void {
  describeRedLockBehaviour(suite);
  describePatience(suite);
}

/** It has a patience of its own for each of its nodes. */
export function describeRedLockBehaviour(suite: LockSuite): void {
  describeSharedLockBehaviour(suite);
  describeOneAtATime(suite);
  describeSiblings(suite);
  describeNewOwners(suite);
}

export function describeSharedLockBehaviour(suite: LockSuite): void {
  describeExclusion(suite);
  describeWaiting(suite);
  describeOutage(suite);
  describeReentrancy(suite);
  describeNesting(suite);
  describeRelease(suite);
  describeLoss(suite);
}
