// What an acquisition and its release cost beside the same protocol written by hand, without any
// safety: uncontended (one caller, one key) and contended (100 callers of one process, one key).
// Rounds are interleaved; run `npm run build` first. On Linux, `taskset -c 0` gives steadier figures.
import { Redis } from 'ioredis';
import { LockService } from '../libs/redis-lock/dist/esm/index.js';
import { LockContext } from '../libs/redis-lock/dist/esm/core/lock-context.js';
import { openIoredisConnection } from '../libs/redis-lock/dist/esm/ioredis/ioredis-connection.js';
import { startRedisServer } from '../scripts/redis-server.mjs';

const ROUNDS = 7;
const SEQUENTIAL = 5_000;
const CALLERS = 100;
const WAVES = 10;

const ACQUIRE = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`;
const RELEASE = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], '0')
return 1`;

async function rawLocker(url) {
  const client = new Redis(url);
  const subscriber = new Redis(url);
  const [acquireSha, releaseSha] = await Promise.all(
    [ACQUIRE, RELEASE].map((lua) => client.script('LOAD', lua)),
  );
  const waiters = new Map();
  subscriber.on('message', (channel) => waiters.get(channel)?.shift()?.());
  let lastOwner = 0;
  return {
    name: 'raw script',
    async run(key, section) {
      const owner = `raw:${++lastOwner}`;
      const channel = `redisson_lock__channel:{${key}}`;
      const attempt = () => client.evalsha(acquireSha, 1, key, 30_000, owner);
      if ((await attempt()) !== null) {
        if (!waiters.has(channel)) waiters.set(channel, []);
        await subscriber.subscribe(channel);
        while ((await attempt()) !== null) {
          await new Promise((resolve) => waiters.get(channel).push(resolve));
        }
      }
      await section();
      await client.evalsha(releaseSha, 1, key, owner, channel);
    },
    async close() {
      client.disconnect();
      subscriber.disconnect();
    },
  };
}

async function ourLocker(url) {
  const context = new LockContext(openIoredisConnection(url));
  const locks = new LockService(context);
  return {
    name: 'nestjs-redis-lock',
    async run(key, section) {
      const lease = await locks.acquire(key, { waitTimeMs: 60_000 });
      await section();
      await lease.release();
    },
    close: () => context.close(),
  };
}

const nothing = async () => undefined;

async function sequential(locker) {
  const startedAt = performance.now();
  for (let i = 0; i < SEQUENTIAL; i++) await locker.run('bench:alone', nothing);
  return (performance.now() - startedAt) / SEQUENTIAL;
}

async function contended(locker) {
  const startedAt = performance.now();
  for (let wave = 0; wave < WAVES; wave++) {
    await Promise.all(Array.from({ length: CALLERS }, () => locker.run('bench:hot', nothing)));
  }
  return (performance.now() - startedAt) / (WAVES * CALLERS);
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const microseconds = (ms) => `${(ms * 1_000).toFixed(0).padStart(6)} µs`;

const server = await startRedisServer();
const url = `redis://127.0.0.1:${server.port}`;
const lockers = [await rawLocker(url), await ourLocker(url)];
try {
  for (const [title, measure] of [
    ['uncontended, one caller on one key', sequential],
    [`contended, ${CALLERS} callers of one process on one key`, contended],
  ]) {
    const samples = lockers.map(() => []);
    for (const locker of lockers) await measure(locker);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, locker] of lockers.entries()) samples[i].push(await measure(locker));
    }
    console.log(`${title}: acquire and release, median of ${ROUNDS} rounds (min to max)`);
    for (const [i, locker] of lockers.entries()) {
      const [low, high] = [Math.min(...samples[i]), Math.max(...samples[i])];
      const ratio = median(samples[0]) / median(samples[i]);
      console.log(
        `  ${locker.name.padEnd(18)} ${microseconds(median(samples[i]))}  ` +
          `(${microseconds(low).trim()} to ${microseconds(high).trim()})  ${ratio.toFixed(2)} × raw`,
      );
    }
  }
} finally {
  await Promise.all(lockers.map((locker) => locker.close()));
  await server.stop();
}
