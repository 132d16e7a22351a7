import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';

/** Three tries and then an error: a buyer should hear of an outage, not wait it out. */
const MAX_RETRIES_PER_REQUEST = 3;

export function connectRedis(url: string): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: MAX_RETRIES_PER_REQUEST });
  const logger = new Logger('ShopRedis');
  // Without a listener ioredis prints every failed attempt to connect.
  redis.on('error', (error: Error) => {
    logger.debug(error.message);
  });
  return redis;
}
