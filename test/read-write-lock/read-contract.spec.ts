import { describeSharedLockContract } from '../contract/lock.contract.js';
import { useRedis } from '../support/redis-server.js';
import { useReadWriteLocks } from './sides.js';

const redis = useRedis();
const { openRead: open, openWrite: openRival } = useReadWriteLocks(redis);

describeSharedLockContract('the read side of a read-write lock', { redis, open, openRival });
