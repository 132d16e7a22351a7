import { LockService } from 'nestjs-redis-lock';
import { describeLostGrants } from '../contract/lost-grants.contract.js';
import { HANDED_LOCK } from '../contract/handed.js';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

const redis = useRedis();
const open = useLocks(redis, (context) => new LockService(context));

describeLostGrants('LockService', { redis, open, handed: HANDED_LOCK });
