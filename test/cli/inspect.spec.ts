import { describe, expect, it } from '@jest/globals';
import type { Inspection } from '../../libs/redis-lock/src/cli/inspection.js';
import { UNSAFE_CHARACTERS } from '../../libs/redis-lock/src/core/api/shapes.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { eventually, untilQueued, useLocks, useRedis } from '../support/set-up.js';
import { run } from './command.js';

const redis = useRedis();
const open = useLocks(redis, (context) => ({
  plain: new LockService(context),
  fair: new FairLockService(context),
  readWrite: new ReadWriteLockService(context),
  semaphores: new SemaphoreService(context),
  latches: new LatchService(context),
}));

/** Every key with its value and the moment at which it ends. */
async function everything(): Promise<string> {
  const found: string[] = [];
  for (const key of (await redis.admin.keys('*')).sort()) {
    const value = await redis.admin.dumpBuffer(key);
    found.push([key, value.toString('hex'), await redis.admin.call('PEXPIRETIME', key)].join(' '));
  }
  return found.join('\n');
}

/** A user that may not write runs `inspect`, once for its text and once for its `--json`. */
async function inspect(name: string, ...args: string[]): Promise<Inspection & { page: string }> {
  await redis.admin.acl('SETUSER', 'reader', 'on', '>pw', '~*', '+@all', '-@write', '-@scripting');
  const env = { REDIS_URL: redis.url, REDIS_USERNAME: 'reader', REDIS_PASSWORD: 'pw' };
  const page = await run(['inspect', name, ...args], { env });
  const json = await run(['inspect', name, ...args, '--json'], { env });
  const { version, nodes } = JSON.parse(json.out) as { version: number; nodes: Inspection[] };
  expect({ version, length: nodes.length, err: page.err }).toEqual({
    version: 1,
    length: 1,
    err: '',
  });
  const [node] = nodes as [Inspection];
  expect(page.code).toBe(node.kind === 'unknown' ? 1 : 0);
  return { ...node, page: page.out };
}

const LEASE = { leaseTimeMs: 20_000 };

function expectLease(ttlMs: number | null | undefined): void {
  expect(ttlMs).toBeGreaterThan(10_000);
  expect(ttlMs).toBeLessThanOrEqual(20_000);
}

describe('inspect', () => {
  it('says of a name under which nothing is that it is free', async () => {
    expect(await inspect('product_1')).toEqual({
      ...{ node: `127.0.0.1:${redis.port}`, key: 'product_1', kind: 'free', type: 'none' },
      ...{ ttlMs: null, holders: [], queues: [] },
      page: `product_1 on 127.0.0.1:${redis.port}: free\n`,
    });
  });

  it('changes neither a value nor an end', async () => {
    const until = Date.now() + 60_000;
    await redis.admin.hset('product_1', 'java:1', 1);
    await redis.admin.rpush('redisson_lock_queue:{product_1}', 'java:2');
    await redis.admin.zadd('nestjs_lock_queue:{product_1}', 1, 'node');
    await redis.admin.set('redisson_lock_token:{product_1}', 7);
    await redis.admin.hset('doc_1', 'mode', 'read', 'java:1', 1);
    await redis.admin.set('{doc_1}:java:1:rwlock_timeout:1', 1);
    await redis.admin.set('pool', 1);
    await redis.admin.zadd('{pool}:timeout', 1, 'is over for long');
    for (const key of await redis.admin.keys('*')) await redis.admin.pexpireat(key, until);
    const before = await everything();
    for (const name of ['product_1', 'doc_1', 'pool', 'nothing']) {
      expect(await run(['inspect', name, '--url', redis.url])).toMatchObject({ code: 0 });
    }
    expect(await everything()).toBe(before);
    await redis.admin.flushall();
  });

  it.each(['product_1', '{shop}:1'])(
    'shows the holder of %s, its token, and who waits',
    async (name) => {
      const [{ locks }, other] = [open({ keyPrefix: 'app:' }), open({ keyPrefix: 'app:' })];
      const lease = await locks.plain.acquire(name, { fenced: true, ...LEASE });
      const waiting = other.locks.plain.acquire(name);
      await untilQueued(redis, `app:${name}`, [other]);
      const { page, ...found } = await inspect(name, '--key-prefix', 'app:');
      const [client, number] = lease.owner.split(':');
      expect(found).toMatchObject({
        ...{ key: `app:${name}`, kind: 'lock', type: 'hash' },
        holders: [{ owner: lease.owner, client, number, count: 1 }],
        token: { value: String(lease.fencingToken) },
        queues: [
          {
            ...{ what: 'line of processes', length: 1 },
            waiters: [{ position: 1, who: other.context.id }],
          },
        ],
      });
      expectLease(found.ttlMs);
      expect(found.queues[0]?.waiters[0]?.waitedMs).toBeGreaterThanOrEqual(0);
      expect(found.queues[0]?.waiters[0]?.forgottenInMs).toBeLessThanOrEqual(5_000);
      expect(page).toContain(`app:${name} on 127.0.0.1:${redis.port}: lock, held, ends in `);
      expect(page).toContain(`  holder   ${lease.owner}, once\n`);
      expect(page).toContain(`  token    ${String(lease.fencingToken)} in redisson_lock_token:`);
      expect(page).toContain(`           1. ${other.context.id}, for `);
      await lease.release();
      await (await waiting).release();
      await redis.admin.flushall();
    },
  );

  it('shows how often a holder has it', async () => {
    const { locks } = open();
    await locks.plain.using('product_1', () =>
      locks.plain.using('product_1', async () => {
        const { holders, page } = await inspect('product_1');
        expect(holders).toMatchObject([{ count: 2 }]);
        expect(page).toContain(', 2 times\n');
      }),
    );
    await redis.admin.hset('product_1', 'f00d:7', 0);
    expect((await inspect('product_1')).page).toContain('was handed it and has yet to enter');
  });

  it('shows the queue of a fair lock in its order, a Java thread too', async () => {
    const { locks, context } = open();
    const lease = await locks.fair.acquire('show_1', LEASE);
    const first = locks.fair.acquire('show_1');
    await eventually(async () => (await redis.admin.llen('redisson_lock_queue:{show_1}')) === 1);
    await redis.admin.rpush('redisson_lock_queue:{show_1}', 'java:12');
    await redis.admin.zadd('redisson_lock_timeout:{show_1}', Date.now() + 60_000, 'java:12');
    const { kind, queues, page } = await inspect('show_1');
    expect(kind).toBe('fair lock');
    expect(queues).toMatchObject([
      {
        ...{ what: 'fair queue', key: 'redisson_lock_queue:{show_1}', length: 2 },
        waiters: [
          { position: 1, who: expect.stringContaining(context.id) },
          { position: 2, who: 'java:12' },
        ],
      },
    ]);
    const [node, java] = queues[0]?.waiters ?? [];
    expect(node?.waitedMs).toBeGreaterThanOrEqual(0);
    expect(java?.waitedMs).toBeUndefined();
    expect(java?.forgottenInMs).toBeGreaterThan(50_000);
    expect(page).toMatch(/waiting {2}fair queue, 2, in redisson_lock_queue:\{show_1\}/);
    await redis.admin.lrem('redisson_lock_queue:{show_1}', 0, 'java:12');
    await redis.admin.zrem('redisson_lock_timeout:{show_1}', 'java:12');
    await lease.release();
    await (await first).release();
  });

  it('shows the readers with their leases, and the writers that wait', async () => {
    const [a, b] = [open(), open()];
    const reading = await a.locks.readWrite.get('doc_1').read.acquire(LEASE);
    const writing = b.locks.readWrite.get('doc_1').write.acquire();
    await untilQueued(redis, 'doc_1', [b], 'rwlock');
    const { kind, mode, holders, queues, page } = await inspect('doc_1');
    expect({ kind, mode }).toEqual({ kind: 'read-write lock', mode: 'read' });
    expect(holders).toMatchObject([{ owner: reading.owner, side: 'read', count: 1 }]);
    expectLease(holders[0]?.ttlMs);
    expect(queues.map(({ what }) => what)).toEqual(['line of writing processes', 'writers']);
    expect(page).toContain(`  holder   ${reading.owner}, to read, once, ends in `);
    await reading.release();
    const lease = await writing;
    const written = await inspect('doc_1');
    expect(written).toMatchObject({
      mode: 'write',
      holders: [{ owner: lease.owner, side: 'write' }],
    });
    const late = a.locks.readWrite.get('doc_1').read.acquire();
    await eventually(async () => (await redis.admin.zcard('nestjs_rwlock_readers:{doc_1}')) === 1);
    expect((await inspect('doc_1')).queues.map(({ what }) => what)).toEqual(['readers']);
    await lease.release();
    await (await late).release();
  });

  it('shows of a reader that has crashed that its lease is over', async () => {
    await redis.admin.hset('doc_1', 'mode', 'read', 'java:1', 2, 'dead:1', 1);
    await redis.admin.set('{doc_1}:java:1:rwlock_timeout:2', 1, 'PX', 20_000);
    const { holders, page } = await inspect('doc_1');
    expect(holders).toMatchObject([
      { owner: 'java:1', count: 2 },
      { owner: 'dead:1', ttlMs: null },
    ]);
    expectLease(holders[0]?.ttlMs);
    expect(page).toContain('  holder   dead:1, to read, once, over\n');
  });

  it('shows the permits of a semaphore, and what waits for several', async () => {
    const { locks } = open();
    const semaphore = locks.semaphores.get('pool');
    await semaphore.setPermits(3);
    const lease = await semaphore.acquire({ permits: 2, ...LEASE });
    const other = open();
    const waiting = other.locks.semaphores.get('pool').acquire({ permits: 2 });
    await eventually(() => redis.admin.exists('nestjs_semaphore_waiting:{pool}').then(Boolean));
    const { kind, permits, queues, page } = await inspect('pool');
    expect(kind).toBe('semaphore');
    expect(permits).toMatchObject({ available: 1, used: 2, expired: 0 });
    expect(permits?.leases.map(({ id }) => id).sort()).toEqual([...lease.permitIds].sort());
    permits?.leases.forEach(({ ttlMs }) => expectLease(ttlMs));
    expect(queues).toMatchObject([
      {
        ...{ what: 'a request for several permits', length: 1 },
        waiters: [{ who: expect.stringMatching(/^[0-9a-f]{32} \(2 permits\)$/) }],
      },
    ]);
    expect(page).toContain('  permits  1 free, 2 in use\n');
    await lease.release();
    await (await waiting).release();
    await redis.admin.zadd('{pool}:timeout', '922337203685477', 'sixteen bytes ok');
    await redis.admin.zadd('{pool}:timeout', Date.now() - 1_000, 'is over for long');
    const java = await inspect('pool');
    expect(java.permits).toMatchObject({
      used: 2,
      expired: 1,
      leases: [{ ttlMs: 0 }, { ttlMs: null }],
    });
    expect(java.page).toContain(', without an end\n');
    await redis.admin.flushall();
  });

  it('shows the count of a latch or of a counting semaphore', async () => {
    const { locks } = open();
    await locks.latches.get('jobs').trySetCount(3);
    expect(await inspect('jobs')).toMatchObject({ kind: 'count', type: 'string', count: 3 });
    await locks.semaphores.counting('free').trySetPermits(5);
    expect((await inspect('free')).page).toContain('  count    5\n');
    await redis.admin.flushall();
  });

  it.each([
    ['a list', (key: string) => redis.admin.rpush(key, 'x'), 'list'],
    ['a text', (key: string) => redis.admin.set(key, '1e3'), 'string'],
    ['a hash of another kind', (key: string) => redis.admin.hset(key, 'name', 'Li'), 'hash'],
    [
      'a hash of several owners',
      (key: string) => redis.admin.hset(key, 'a:1', 1, 'b:1', 1),
      'hash',
    ],
    ['a read-write lock of nobody', (key: string) => redis.admin.hset(key, 'mode', 'read'), 'hash'],
  ])('says of %s that it is no lock, and exits with 1', async (_, write, type) => {
    await write('mine');
    const { kind, page, holders, ...found } = await inspect('mine');
    expect({ kind, type: found.type, holders }).toEqual({ kind: 'unknown', type, holders: [] });
    expect(page).toContain(`a ${type} that is no lock of this library`);
  });

  it.each([
    ['a text for a count', (key: string) => redis.admin.hset(key, 'a:1', 'often')],
    ['a reader with a text', (key: string) => redis.admin.hset(key, 'mode', 'read', 'a:1', '')],
    ['permits behind a text', (key: string) => redis.admin.set(key, 'many')],
  ])('says of %s that it is no lock, and of no figure that it is none', async (_, write) => {
    await redis.admin.zadd('{mine}:timeout', 'inf', 'permit');
    await redis.admin.zadd('nestjs_lock_queue:{mine}', '-inf', 'waiter');
    await write('mine');
    const { kind, permits, queues, page } = await inspect('mine');
    expect(kind).toBe('unknown');
    expect(permits).toMatchObject({ available: null, leases: [{ ttlMs: null }] });
    expect(queues[0]?.waiters[0]?.waitedMs).toBeGreaterThan(0);
    expect(page).not.toMatch(/NaN|Infinity|null/);
    await redis.admin.flushall();
  });

  it('shows what a terminal would obey, in keys of whoever may write, as text', async () => {
    const hostile = 'a\u001b[2J\u009b31m\u202e\nok:1';
    await redis.admin.hset('mine', 'mode', 'read', hostile, 1);
    await redis.admin.rpush('redisson_lock_queue:{mine}', hostile);
    await redis.admin.set('redisson_lock_token:{mine}', hostile);
    const { page, holders } = await inspect('mine');
    const { out } = await run(['inspect', 'mine', '--json', '--url', redis.url]);
    const shown = 'a\\u001b[2J\\u009b31m\\u202e\\u000aok:1';
    expect(page.match(/a\\u.*ok:1/g)).toEqual(Array(3).fill(expect.stringContaining(shown)));
    expect(holders).toMatchObject([{ owner: hostile }]);
    for (const text of [page, out])
      expect(text.replaceAll('\n', '')).not.toMatch(UNSAFE_CHARACTERS);
    await redis.admin.flushall();
  });

  it('survives helper keys of another type', async () => {
    for (const key of ['redisson_lock_queue:{a}', '{a}:timeout', 'redisson_lock_token:{a}']) {
      await redis.admin.hset(key, 'x', 1);
    }
    for (const key of ['nestjs_lock_queue:{a}', 'nestjs_rwlock_writers:{a}']) {
      await redis.admin.rpush(key, 'x');
    }
    expect(await inspect('a')).toMatchObject({ kind: 'free', queues: [] });
    await redis.admin.flushall();
  });

  it('reads no more than the first hundred', async () => {
    const owners = Array.from({ length: 250 }, (_, i) => `java:${String(i)}`);
    await redis.admin.rpush('redisson_lock_queue:{a}', ...owners);
    const { queues, page } = await inspect('a');
    expect(queues).toMatchObject([{ length: 250 }]);
    expect(queues[0]?.waiters).toHaveLength(100);
    expect(page).toContain('and 150 more');
  });

  it('asks for no long hash as a whole, be it a lock or not', async () => {
    const fields = Array.from({ length: 1_000 }, (_, i) => [`java:${String(i)}`, '1']).flat();
    await redis.admin.hset('foreign', ...fields);
    await redis.admin.hset('doc_1', ...fields, 'mode', 'read');
    const commands = await redis.commandsDuring(async () => {
      expect(await inspect('foreign')).toMatchObject({ kind: 'unknown', type: 'hash' });
      const { kind, mode, holders } = await inspect('doc_1');
      expect({ kind, mode }).toEqual({ kind: 'read-write lock', mode: 'read' });
      expect(holders.length).toBeGreaterThan(0);
      expect(holders.length).toBeLessThanOrEqual(100);
    });
    expect(Object.keys(commands)).not.toContain('hgetall');
    await redis.admin.flushall();
  });

  it('looks at each node of a red lock', async () => {
    const { code, out } = await run([
      ...['inspect', 'a', '--json', '--url', redis.url, '--url', redis.url],
    ]);
    expect(code).toBe(0);
    expect((JSON.parse(out) as { nodes: unknown[] }).nodes).toHaveLength(2);
  });

  it('says which right is missing', async () => {
    await redis.admin.acl('SETUSER', 'blind', 'on', '>pw', '~*', '&*', '+@all', '-type');
    const env = { REDIS_URL: redis.url, REDIS_USERNAME: 'blind', REDIS_PASSWORD: 'pw' };
    const { code, err } = await run(['inspect', 'a'], { env });
    expect(code).toBe(1);
    expect(err).toContain("no permissions to run the 'type' command");
  });
});
