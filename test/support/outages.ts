import { expect } from '@jest/globals';
import { LockBackendError } from 'nestjs-redis-lock/core';
import { PROMPT_MS } from '../contract/suite.js';
import type { FaultProxy } from './fault-proxy.js';
import type { RedisFixture } from './redis-server.js';
import { Stopwatch } from './stopwatch.js';

/** Takes Redis away from every connection that there is, or will be, and returns it. */
export function outagesOf(redis: RedisFixture, proxy: { readonly current: FaultProxy }) {
  const faults = {
    down: () => {
      proxy.current.refuse();
      proxy.current.cut();
    },
    hung: () => {
      redis.pause();
    },
  };
  const healed = async () => {
    redis.resume();
    await proxy.current.heal();
    // Neither side ends a connection of which one side has gone unnoticed: the proxy has to.
    proxy.current.cut();
  };
  return { faults, healed };
}

/** Each call on `a` is over within its limit, and says that Redis could not be asked. */
export async function expectUnanswered(
  calls: readonly (readonly [work: Promise<unknown>, limitMs: number])[],
): Promise<void> {
  await Promise.all(
    calls.map(async ([work, limitMs]) => {
      const stopwatch = new Stopwatch();
      const error: unknown = await work.catch((e: unknown) => e);
      expect(stopwatch.ms).toBeLessThan(limitMs + PROMPT_MS);
      expect(error).toBeInstanceOf(LockBackendError);
      expect(error).toMatchObject({ code: 'LOCK_BACKEND', lockName: 'a', retryable: true });
    }),
  );
}
