import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { readFileSync } from 'node:fs';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import type { Semaphore } from '../../libs/redis-lock/src/primitives/semaphore/semaphore.js';
import { useLocks } from '../support/lock-client.js';
import { useRedis, type CommandCounts } from '../support/redis-server.js';

const PAGE = new URL('../../docs/semaphore.md', import.meta.url);

/** What is done to a semaphore of ten permits, of which somebody else has two. */
const OPERATIONS: Record<
  string,
  (semaphore: Semaphore, admin: Redis) => Promise<() => Promise<unknown>>
> = {
  'acquire of 1 permit': (semaphore) => Promise.resolve(() => semaphore.acquire()),
  'acquire of 5 permits': (semaphore) => Promise.resolve(() => semaphore.acquire({ permits: 5 })),
  'acquire of 1 permit, when none is in use': async (semaphore, admin) => {
    await admin.del('{a}:timeout');
    return () => semaphore.acquire();
  },
  'an attempt that is refused': (semaphore) =>
    Promise.resolve(() => semaphore.tryAcquire({ permits: 9 })),
  'acquire that takes back expired permits': async (semaphore, admin) => {
    await admin.zadd('{a}:timeout', 1, 'expired', 2, 'expired too');
    return () => semaphore.acquire();
  },
  'release of 1 permit': async (semaphore) => {
    const lease = await semaphore.acquire();
    return () => lease.release();
  },
  'release of 5 permits': async (semaphore) => {
    const lease = await semaphore.acquire({ permits: 5 });
    return () => lease.release();
  },
  'renewal of 1 permit': async (semaphore) => {
    const lease = await semaphore.acquire();
    return () => lease.renew(60_000);
  },
  'renewal of 5 permits': async (semaphore) => {
    const lease = await semaphore.acquire({ permits: 5 });
    return () => lease.renew(60_000);
  },
  '`tryRelease` of 1 id': async (semaphore) => {
    const { permitIds } = await semaphore.acquire();
    return () => semaphore.tryRelease(permitIds);
  },
  '`availablePermits`, `acquiredPermits`, `permits`': (semaphore) =>
    Promise.resolve(() => semaphore.availablePermits()),
  '`trySetPermits`, when they are set': (semaphore) =>
    Promise.resolve(() => semaphore.trySetPermits(5)),
  '`setPermits`': (semaphore) => Promise.resolve(() => semaphore.setPermits(20)),
  '`addPermits`': (semaphore) => Promise.resolve(() => semaphore.addPermits(5)),
};

const rowOf = (operation: string, { evalsha, ...inside }: CommandCounts) => {
  const total = Object.values(inside).reduce((sum, calls) => sum + calls, 0);
  const commands = Object.entries(inside).map(([name, calls]) =>
    calls === 1 ? name : `${String(calls)} × ${name}`,
  );
  return `| ${operation} | ${String(evalsha)} | ${String(total)} | ${commands.sort().join(', ')} |`;
};

describe('what a semaphore costs', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) => new SemaphoreService(context));

  it.each(Object.keys(OPERATIONS))('%s: as docs/semaphore.md says', async (operation) => {
    await redis.admin.set('a', 10);
    await open().locks.get('a').acquire({ permits: 2 });
    const semaphore = open().locks.get('a');
    // The first call of each script would load it.
    await (
      await OPERATIONS[operation]?.(semaphore, redis.admin)
    )?.();
    await redis.admin.del('{a}:timeout');
    await redis.admin.set('a', 10);
    await open().locks.get('a').acquire({ permits: 2 });
    const step = await OPERATIONS[operation]?.(semaphore, redis.admin);
    const row = rowOf(operation, await redis.commandsDuring(() => step?.()));
    if (process.env.SHOW_COST !== undefined) process.stdout.write(`${row}\n`);
    expect(readFileSync(PAGE, 'utf8').replace(/ +/g, ' ')).toContain(row);
  });
});
