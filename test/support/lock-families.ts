import { afterEach } from '@jest/globals';
import { openLocks, type LockFamily, type OpenLocksOptions } from 'nestjs-redis-lock/core';
import { eventually } from './eventually.js';
import { expectNothingLeft } from './set-up.js';
import type { RedisFixture } from './redis-server.js';

/** Opens locks on the first of the servers. After each test they are closed, and no server keeps a key. */
export function useLockFamilies(servers: readonly [RedisFixture, ...RedisFixture[]]) {
  const opened = new Set<LockFamily>();

  afterEach(async () => {
    const families = [...opened];
    opened.clear();
    await Promise.all(families.map((family) => family.close()));
    for (const server of servers) await eventually(() => expectNothingLeft(server));
  });

  return (options: OpenLocksOptions = {}): LockFamily => {
    const family = openLocks({ connection: servers[0].url, ...options });
    opened.add(family);
    return family;
  };
}
