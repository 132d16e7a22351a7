import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { describeFairness } from '../contract/fairness.contract.js';
import { describeLockContract } from '../contract/lock.contract.js';
import { useClients } from '../support/lock-client.js';

const { redis, open } = useClients(FairLockService);

// The place of a dead waiter is kept for 5 s.
describeLockContract('FairLockService', { redis, open, deadWaiterMs: 5_000 });
describeFairness({ redis, open });
