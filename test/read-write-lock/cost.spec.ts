import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { useRedis } from '../support/redis-server.js';
import { eventually } from '../support/eventually.js';
import { useReadWriteLocks } from './sides.js';

const PAGE = new URL('../../docs/read-write-lock.md', import.meta.url);

/** Where a writer and a reader are remembered while they wait. */
const WAITING = ['nestjs_rwlock_writers:{a}', 'nestjs_rwlock_readers:{a}'];

describe('what a read-write lock costs in Redis commands', () => {
  const redis = useRedis();
  const { open } = useReadWriteLocks(redis);

  it('is what the page says', async () => {
    const client = open();
    const { read, write } = client.locks.get('a');
    // Redis learns the scripts first.
    for (const side of [read, write]) await side.using((lease) => lease.renew());

    const table: string[] = [];
    const measure = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
      await redis.resetCommandStats();
      const result = await work();
      const { evalsha = 0, ...inside } = await redis.commandStats();
      const commands = Object.values(inside).reduce((sum, calls) => sum + calls, 0);
      table.push(`| ${operation} | ${evalsha} | ${commands} |`);
      return result;
    };
    const cells = (line: string) => line.replace(/ +/g, ' ');

    const reading = await measure('read, free', () => read.acquire());
    const second = await measure('read, beside another reader', () => read.acquire());
    await measure('try to write, refused by two readers', () => write.tryAcquire());
    await measure('renew a read', () => reading.renew(40_000));
    await measure('end a read, another goes on', () => second.release());
    await measure('end the last read', () => reading.release());
    const writing = await measure('write, free', () => write.acquire());
    await measure('try to read, refused by a writer', () => read.tryAcquire());
    await measure('renew a write', () => writing.renew(40_000));
    await measure('end a write', () => writing.release());

    process.stdout.write(`${table.join('\n')}\n`);
    const page = readFileSync(PAGE, 'utf8').split('\n').map(cells);
    for (const line of table) expect(page).toContain(line);
  });

  it('is one message and no more scripts than polls for a caller that waits', async () => {
    const holder = await open().locks.get('a').write.acquire();
    const client = open({ pollIntervalMs: 60_000 });
    const { read, write } = client.locks.get('a');
    const waiting = [read.acquire({ waitTimeMs: 60_000 }), write.acquire({ waitTimeMs: 60_000 })];
    await eventually(async () => (await redis.admin.exists(...WAITING)) === 2);
    await eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 1);
    const [reading, writing] = waiting;
    const sent = await redis.commandsDuring(async () => {
      await holder.release();
      await (await reading)?.release();
      await (await writing)?.release();
    });
    // Three releases, the two grants, and the attempts that a message or the subscription set off.
    expect(sent.evalsha).toBeLessThanOrEqual(3 + 2 + 6);
  });
});
