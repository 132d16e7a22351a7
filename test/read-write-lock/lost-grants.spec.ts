import { describeLostGrants } from '../contract/lost-grants.contract.js';
import { HANDED_WRITE_LOCK } from '../contract/handed.js';
import { useRealRedis } from '../support/redis-server.js';
import { useReadWriteLocks } from './sides.js';

const redis = useRealRedis();
const { openWrite: open } = useReadWriteLocks(redis);

describeLostGrants('the write side of a read-write lock', {
  redis,
  open,
  handed: HANDED_WRITE_LOCK,
});
