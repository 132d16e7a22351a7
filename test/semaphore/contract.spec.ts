import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { describePermitContract } from '../contract/permits.contract.js';
import { useClients } from '../support/lock-client.js';

const { redis, open } = useClients(SemaphoreService);

describePermitContract('SemaphoreService', { redis, open });
