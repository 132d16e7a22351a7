import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { describePermitContract } from '../contract/permits.contract.js';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

const redis = useRedis();
const open = useLocks(redis, (context) => new SemaphoreService(context));

describePermitContract('SemaphoreService', { redis, open });
