import { LockService } from 'nestjs-redis-lock';
import { describeHandOff } from '../contract/hand-off.contract.js';
import { HANDED_LOCK } from '../contract/handed.js';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

const redis = useRedis();
const open = useLocks(redis, (context) => new LockService(context));

describeHandOff('LockService', { redis, open, handed: HANDED_LOCK });
