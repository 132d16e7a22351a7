import { LockService } from 'nestjs-redis-lock/core';
import { describeLockContract } from '../contract/lock.contract.js';
import { useClients } from '../support/lock-client.js';

const { redis, open } = useClients(LockService);

describeLockContract('LockService', { redis, open, deadWaiterMs: 3_000 });
