import { afterEach, describe, expect, it } from '@jest/globals';
import { useRealRedis } from '../support/redis-server.js';
import { Example } from './example.js';

const redis = useRealRedis();

afterEach(() => Example.endAll());

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
/** The numbers that callers read, raised by one and wrote: one comes twice where two overlapped. */
const numbersOf = async (example: Example, pattern: RegExp, count: number) =>
  (await example.finds(pattern, count)).map(Number).sort((a, b) => a - b);

describe('an example with jobs', () => {
  it('cron runs the job once each second', async () => {
    const example = await Example.start('cron');
    const seconds = await example.finds(/writes the report of (\S+)/, 3);
    expect(new Set(seconds).size).toBe(seconds.length);
    await example.keepsPromises();
    await example.endsCleanly();
  });

  it('bullmq runs the jobs of one product one after the other, and all of them', async () => {
    const example = await Example.start('bullmq');
    expect(await numbersOf(example, /tea: order (\d+)/, 6)).toEqual(upTo(6));
    expect(await numbersOf(example, /rice: order (\d+)/, 6)).toEqual(upTo(6));
    await example.keepsPromises();
    await example.endsCleanly();
  });

  it('without-nest lets one caller in at a time, and ends by itself', async () => {
    const example = await Example.start('without-nest');
    expect(await numbersOf(example, /visit (\d+)/, 10)).toEqual(upTo(10));
    await example.keepsPromises();
    await example.endsCleanly(example.exited);
  });

  it('uses a given Redis, and ends with its command, however that ends', async () => {
    const example = await Example.start('bullmq', { REDIS_URL: redis.url });
    expect(await example.finds(/: order/, 12)).toHaveLength(12);
    expect(await redis.admin.mget('sold_tea', 'sold_rice')).toEqual(['6', '6']);
    expect(await example.signal('SIGKILL')).toBe('SIGKILL');
    await example.leavesNothing();
  });
});
