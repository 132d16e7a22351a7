import { expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';
import { inOrder } from './in-order.js';
import { timed, secondsOf } from './moments.js';
import type { RedisFixture } from './redis-server.js';

/** Runs a script as ioredis delivers it: everything is text. And the moment is noted. */
export async function deliver<K extends string, A extends string, R>(
  redis: Redis,
  script: Script<K, A, R>,
  keys: readonly string[],
  args: Readonly<Record<A, string | number>> | readonly (string | number)[],
): Promise<R> {
  const values = inOrder<string | number>(script.args, args);
  const run = () => redis.eval(script.lua, keys.length, ...keys, ...values);
  // Redis would note in its ACL log that another user may not read the clock.
  return script.decode(await (redis.options.username ? run() : timed(redis, run)));
}

/**
 * Delivers a step so often. Answers and state have to be those of the first time, and no message is
 * published again. Where the step answers something else from the second time on, that is `later`.
 */
export function deliveries(redis: RedisFixture, times: number, look: () => Promise<unknown>) {
  return async <T>(step: () => Promise<T>, later?: T): Promise<T> => {
    const first = await step();
    if (times === 1) return first;
    const state = await look();
    const { publish } = await redis.commandStats();
    for (let again = 1; again < times; again += 1) {
      expect(await step()).toEqual(later ?? lenient(first));
      expect(await look()).toEqual(state);
    }
    expect((await redis.commandStats()).publish).toBe(publish);
    return first;
  };
}

/** How long to wait becomes less. */
function lenient(answer: unknown): unknown {
  const isBusy = (answer as { kind?: string } | null)?.kind === 'busy';
  return isBusy ? expect.objectContaining({ kind: 'busy' }) : answer;
}

/** Everything there is to see: values, and TTLs in seconds. */
export async function look(redis: Redis): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const key of (await redis.keys('*')).sort()) {
    const seconds = await secondsOf(redis, key);
    seen[key] = { value: await redis.get(key), ...(seconds > 0 && { seconds }) };
  }
  return seen;
}

/** No script takes one of these for a whole number that is not negative. */
export const NO_NUMBERS = [
  ...['NaN', '1.5', '-1', '1e3', '', ' 100', '100 ', '0x10', 'nan', 'inf', '-inf', 'Infinity'],
  ...['9223372036854775807', '1'.repeat(400), '1000000000000000', '１００', '1\n', 'abc', '1,5'],
];

/** A key may hold one of these values, which count nothing. */
export const NO_COUNTS = ['abc', '1e3', '', '1.5', ' 1', '01', '-0', '+1', '99999999999999999999'];
