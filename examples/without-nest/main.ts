import { Redis } from 'ioredis';
import { openLocks } from 'nestjs-redis-lock/core';
import { setTimeout as pause } from 'node:timers/promises';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const locks = openLocks({ connection: redis });

async function visit(): Promise<void> {
  const visits = Number(await redis.get('visits')) + 1;
  await pause(50); // your work
  await redis.set('visits', visits); // right only if no other caller has written meanwhile
  console.log(`visit ${visits}`);
}

console.log('makes 5 visits at once');
try {
  await Promise.all(Array.from({ length: 5 }, () => locks.lock.using('visit', visit)));
} finally {
  await locks.close();
  redis.disconnect();
}
