import { LockService } from 'nestjs-redis-lock/core';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { describeOneAtATime, describeOutage, describeWaiting } from './exclusion.contract.js';
import { describeNesting, describeNewOwners } from './nesting.contract.js';
import { describeSiblings } from './reentrancy.contract.js';
import type { LockSuite, LockVerbs } from './suite.js';

/** Two locks for each name. */
export function multiOf(context: LockContext): LockVerbs {
  const locks = new LockService(context);
  const get = (name: string) => locks.multi([`${name}:other`, name]);
  return {
    get,
    acquire: (name, options) => get(name).acquire(options),
    tryAcquire: (name, options) => get(name).tryAcquire(options),
    using: (name, work, options) => get(name).using(work, options),
  };
}

/** A multi lock has 2 names and each event twice; the other suites expect 1 of each. */
export function describeMultiBehaviour(suite: LockSuite): void {
  describeOneAtATime(suite);
  describeWaiting(suite);
  describeOutage(suite);
  describeSiblings(suite);
  describeNesting(suite);
  describeNewOwners(suite);
}
