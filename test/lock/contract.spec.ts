import { LockService } from 'nestjs-redis-lock';
import { describeLockContract } from '../contract/lock.contract.js';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

const redis = useRedis();
const open = useLocks(redis, (context) => new LockService(context));

describeLockContract('LockService', { redis, open, deadWaiterMs: 3_000 });
