import type { Redis } from 'ioredis';
import { inOrder, type Script } from '../../libs/redis-lock/src/core/script.js';

/** Runs a script as ioredis delivers it: everything is text. */
export async function deliver<K extends string, A extends string, R>(
  redis: Redis,
  script: Script<K, A, R>,
  keys: readonly string[],
  args: Readonly<Record<A, string | number>> | readonly (string | number)[],
): Promise<R> {
  const values = inOrder<string | number>(script.args, args);
  return script.decode(await redis.eval(script.lua, keys.length, ...keys, ...values));
}

/** Everything there is to see: values, and TTLs rounded to seconds. */
export async function look(redis: Redis): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const key of (await redis.keys('*')).sort()) {
    const seconds = Math.round((await redis.pttl(key)) / 1_000);
    seen[key] = { value: await redis.get(key), ...(seconds > 0 && { seconds }) };
  }
  return seen;
}

/** What no script takes for a whole number that is not negative. */
export const NO_NUMBERS = [
  ...['NaN', '1.5', '-1', '1e3', '', ' 100', '100 ', '0x10', 'nan', 'inf', '-inf', 'Infinity'],
  ...['9223372036854775807', '1'.repeat(400), '1000000000000000', '１００', '1\n', 'abc', '1,5'],
];

/** What a key may hold that counts nothing. */
export const NO_COUNTS = ['abc', '1e3', '', '1.5', ' 1', '01', '-0', '+1', '99999999999999999999'];
