import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { describeFairness } from '../contract/fairness.contract.js';
import { describeLockContract } from '../contract/lock.contract.js';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

const redis = useRedis();
const open = useLocks(redis, (context) => new FairLockService(context));

// The place of a dead waiter is kept for 5 s.
describeLockContract('FairLockService', { redis, open, deadWaiterMs: 5_000 });
describeFairness({ redis, open });
