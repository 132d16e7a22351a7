import { describe } from '@jest/globals';
import { describeCrash } from '../contract/crash.contract.js';
import { describeMultiBehaviour, multiOf } from '../contract/multi-lock.contract.js';
import { useLocks, useRedis } from '../support/set-up.js';

describe('LockService.multi', () => {
  const redis = useRedis();
  const open = useLocks(redis, multiOf);
  const suite = { redis, open, deadWaiterMs: 3_000 };

  describeMultiBehaviour(suite);
  describeCrash(suite);
});
