import { describeLockContract } from '../contract/lock.contract.js';
import { useRedis } from '../support/redis-server.js';
import { useReadWriteLocks } from './sides.js';

const redis = useRedis();
const { openWrite: open } = useReadWriteLocks(redis);

describeLockContract('the write side of a read-write lock', { redis, open, deadWaiterMs: 3_000 });
