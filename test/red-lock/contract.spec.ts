import { describe } from '@jest/globals';
import { describeCrash } from '../contract/crash.contract.js';
import { describeRedLockBehaviour } from '../contract/lock.contract.js';
import type { LockClientOptions } from '../support/lock-client.js';
import { useRedLocks } from '../support/red-lock-client.js';
import { useRedis } from '../support/redis-server.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A majority of one: what the contract does to its server, it does to the whole lock. */
describe('RedLockService', () => {
  const redis = useRedis();
  const openNodes = useRedLocks([redis]);
  const open = ({ connection = redis.url, ...settings }: LockClientOptions = {}) =>
    openNodes({ ...settings, nodes: [connection], longestLeaseMs: DAY_MS });
  const suite = { redis, open, isHeardInTime: true };

  describeRedLockBehaviour(suite);
  describeCrash(suite);
});
