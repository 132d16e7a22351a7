import { describe } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock';
import { describeCrash } from '../contract/crash.contract.js';
import {
  describeOneAtATime,
  describeOutage,
  describeWaiting,
} from '../contract/exclusion.contract.js';
import { describeSiblings } from '../contract/reentrancy.contract.js';
import type { LockVerbs } from '../contract/suite.js';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

/** Two locks for each name. What the others expect of its name and its events, a multi lock has twice. */
describe('LockService.multi', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context): LockVerbs => {
    const locks = new LockService(context);
    const get = (name: string) => locks.multi([`${name}:other`, name]);
    return {
      get,
      acquire: (name, options) => get(name).acquire(options),
      tryAcquire: (name, options) => get(name).tryAcquire(options),
      using: (name, work, options) => get(name).using(work, options),
    };
  });
  const suite = { redis, open, deadWaiterMs: 3_000 };

  describeOneAtATime(suite);
  describeWaiting(suite);
  describeOutage(suite);
  describeSiblings(suite);
  describeCrash(suite);
});
