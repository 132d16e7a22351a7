import { LockService } from 'nestjs-redis-lock/core';
import { describeHandOff } from '../contract/hand-off.contract.js';
import { HANDED_LOCK } from '../contract/handed.js';
import { describeLostGrants } from '../contract/lost-grants.contract.js';
import { useRealClients } from '../support/set-up.js';

const suite = { ...useRealClients(LockService), handed: HANDED_LOCK };

describeHandOff('LockService', suite);
describeLostGrants('LockService', suite);
