import { Logger } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';

/** A buyer gets an error within a second of an outage, and does not wait for its end. */
const IMPATIENT = {
  maxRetriesPerRequest: 3,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, 250),
} satisfies RedisOptions;

export function connectRedis(url: string): Redis {
  const redis = new Redis(url, IMPATIENT);
  const logger = new Logger('ShopRedis');
  // Without a listener ioredis prints every failed attempt to connect.
  redis.on('error', (error: Error) => {
    logger.debug(error.message);
  });
  return redis;
}
