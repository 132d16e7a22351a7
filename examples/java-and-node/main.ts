import { Redis } from 'ioredis';
import { openLocks } from 'nestjs-redis-lock/core';
import { setTimeout as pause } from 'node:timers/promises';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const locks = openLocks({ connection: redis });

/** Sells one piece; false when none is left. */
async function sell(): Promise<boolean> {
  const pieces = Number(await redis.get('pieces'));
  if (pieces === 0) return false;
  await pause(50); // your work
  await redis.set('pieces', pieces - 1); // right only if Java has not written meanwhile
  console.log(`sells one, ${pieces - 1} left`);
  return true;
}

console.log('is connected');
await redis.set('pieces', 20);

// Both begin at the same time.
const opening = locks.latch.get('opening');
await opening.trySetCount(2);
await opening.countDown();
await opening.wait();

while (await locks.lock.using('product_1', sell)) await pause(20);
await locks.close();
redis.disconnect();
