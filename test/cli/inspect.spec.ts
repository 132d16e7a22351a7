import { describe, expect, it } from '@jest/globals';
import { LockMonitor, type LockInspection } from 'nestjs-redis-lock/core';
import { PERMISSIONS, type PermissionsOf } from '../../libs/redis-lock/src/cli/permissions.js';
import { UNSAFE_CHARACTERS } from '../../libs/redis-lock/src/core/api/shapes.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { aclRules } from '../support/acl-rules.js';
import { untilQueued, useLocks, useRealRedis } from '../support/set-up.js';
import { run } from './command.js';

const redis = useRealRedis();
const open = useLocks(redis, (context) => ({
  plain: new LockService(context),
  semaphores: new SemaphoreService(context),
  latches: new LatchService(context),
}));

/** Every key with its value and the moment at which it ends. */
async function everything(): Promise<string> {
  const found: string[] = [];
  for (const key of (await redis.admin.keys('*')).sort()) {
    const value = await redis.admin.dumpBuffer(key);
    found.push([key, value.toString('hex'), await redis.endOf(key)].join(' '));
  }
  return found.join('\n');
}

type Node = LockInspection & { node: string };

/** Runs `inspect` once for its text and once for its `--json`, in which a time without an end is null. */
async function inspect(name: string, ...args: string[]): Promise<Node & { page: string }> {
  const env = { REDIS_URL: redis.url };
  const page = await run(['inspect', name, ...args], { env });
  const json = await run(['inspect', name, ...args, '--json'], { env });
  const { version, nodes } = JSON.parse(json.out) as { version: number; nodes: Node[] };
  expect({ version, length: nodes.length, code: page.code, err: page.err }).toEqual({
    ...{ version: 1, length: 1 },
    ...{ code: 0, err: '' },
  });
  return { ...(nodes[0] as Node), page: page.out };
}

const LEASE = { leaseTimeMs: 20_000 };

describe('inspect', () => {
  it('says of a name under which nothing is that it is free', async () => {
    expect(await inspect('product_1')).toEqual({
      ...{ node: `127.0.0.1:${redis.port}`, name: 'product_1', key: 'product_1', kinds: [] },
      ...{ remainingMs: 0, holders: [], holderCount: 0, queues: [] },
      page: `product_1 on 127.0.0.1:${redis.port}: free\n`,
    });
  });

  it('finds the held locks that a forgotten or a wrong prefix hides', async () => {
    const [{ locks }, { locks: bare }] = [open({ keyPrefix: 'orders:' }), open()];
    const lease = await locks.plain.acquire('order_9', LEASE);
    await redis.admin.set('text:order_9', 'x');
    await redis.admin.hset('profile:order_9', 'name', 'Li');
    const { page, ...found } = await inspect('order_9');
    const at = `on 127.0.0.1:${redis.port}: free\n`;
    const hint = '  but      orders:order_9 is held: use --key-prefix orders:\n';
    expect(page).toBe(`order_9 ${at}${hint}`);
    expect(found).toMatchObject({ elsewhere: { keys: ['orders:order_9'], isComplete: true } });
    const unlock = await run(['unlock', 'order_9', '--yes', '--url', redis.url]);
    expect(unlock.out).toBe(`order_9 ${at}${hint}The lock is not held.\n`);
    expect(unlock.code).toBe(1);
    await lease.release();

    const pool = bare.semaphores.get('order_9', { capacity: 2 });
    const permit = await pool.acquire(LEASE);
    const { page: wrong } = await inspect('order_9', '--key-prefix', 'shop:');
    expect(wrong).toBe(`shop:order_9 ${at}  but      order_9 is held: use no --key-prefix\n`);
    await permit.release();
    await redis.admin.flushall();
  });

  it('says when it could not search all keys for other prefixes', async () => {
    const cut =
      '  but      other prefixes were not all searched: it needs +scan and their keys, and ends after 2 s\n';
    // More hashes that are no locks than it inspects.
    const pipeline = redis.admin.pipeline();
    for (let i = 0; i < 150; i++) pipeline.hset(`profile:${String(i)}:9`, 'name', 'Li');
    await pipeline.exec();
    const { page, ...found } = await inspect('9');
    expect(page).toContain(cut);
    expect(found).toMatchObject({ elsewhere: { keys: [], isComplete: false } });
    await redis.admin.flushall();
    const rules = aclRules(Object.keys(PERMISSIONS) as PermissionsOf[], 'app:');
    await redis.admin.acl('SETUSER', 'shop', 'reset', 'resetchannels', 'on', '>pw', ...rules);
    const env = { REDIS_URL: redis.url, REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'pw' };
    const refused = await run(['inspect', 'a', '--key-prefix', 'app:'], { env });
    expect(refused).toMatchObject({ code: 0, out: expect.stringContaining(cut) });
    await redis.admin.acl('SETUSER', 'shop', '+scan');
    await redis.admin.hset('other:a', 'java:1', 1);
    const unreadable = await run(['inspect', 'a', '--key-prefix', 'app:'], { env });
    expect(unreadable).toMatchObject({ code: 0, out: expect.stringContaining(cut), err: '' });
    await redis.admin.flushall();
    await redis.admin.acl('DELUSER', 'shop');
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

  it('says who holds a lock, for how long, and who waits, as the monitor does', async () => {
    const [{ locks, context }, other] = [open({ keyPrefix: 'app:' }), open({ keyPrefix: 'app:' })];
    const lease = await locks.plain.acquire('product_1', { fenced: true, ...LEASE });
    const waiting = other.locks.plain.acquire('product_1');
    await untilQueued(redis, 'app:product_1', [other]);
    const { page, ...found } = await inspect('product_1', '--key-prefix', 'app:');
    const seen = await new LockMonitor(context).inspect('product_1');
    expect(Object.keys(found).sort()).toEqual([...Object.keys(seen), 'node'].sort());
    expect(found).toMatchObject({ key: 'app:product_1', kinds: ['lock'] });
    expect(page).toMatch(/^app:product_1 on 127\.0\.0\.1:\d+: lock, held, ends in (19|20) s\n/);
    expect(page).toContain(`  holder   ${lease.owner}, once, ends in `);
    expect(page).toContain(`  token    ${String(lease.fencingToken)}\n`);
    expect(page).toContain('  waiting  lock: 1 process\n');
    expect(page).toContain(`           1. ${other.context.id}, for `);
    await lease.release();
    await (await waiting).release();
    await redis.admin.flushall();
  });

  it('says how often a holder has it, and that it has no end', async () => {
    await redis.admin.hset('a', 'f00d:7', 0);
    const { page, ...found } = await inspect('a');
    expect(page).toContain('  holder   f00d:7, handed over, not entered yet, no expiry\n');
    expect(found).toMatchObject({ remainingMs: null, holders: [{ remainingMs: null }] });
    await redis.admin.hset('a', 'f00d:7', 2);
    expect((await inspect('a')).page).toContain('  holder   f00d:7, 2 times, no expiry\n');
    await redis.admin.flushall();
  });

  it('says which readers are dead, and which side a writer waits for', async () => {
    await redis.admin.hset('doc_1', 'mode', 'read', 'java:1', 2, 'dead:1', 1);
    await redis.admin.set('{doc_1}:java:1:rwlock_timeout:2', 1, 'PX', 20_000);
    await redis.admin.zadd('nestjs_rwlock_writers:{doc_1}', Date.now() + 5_000, 'f00d:1');
    const { page } = await inspect('doc_1');
    expect(page).toMatch(/: read and write, held, ends in (19|20) s\n/);
    expect(page).toMatch(/ {2}holder {3}java:1, to read, 2 times, ends in (19|20) s\n/);
    expect(page).toContain('  holder   dead:1, to read, once, expired\n');
    expect(page).toContain('  waiting  write: 1 caller\n');
    await redis.admin.flushall();
  });

  it('says how many permits are free, and which are not', async () => {
    const { locks } = open();
    await locks.semaphores.get('pool').setPermits(3);
    const lease = await locks.semaphores.get('pool').acquire({ permits: 2, ...LEASE });
    await redis.admin.set('nestjs_semaphore_waiting:{pool}', `${'a'.repeat(32)}:3`, 'PX', 5_000);
    const { page } = await inspect('pool');
    expect(page).toContain('  permits  1 free, 2 in use, 3 in total\n');
    for (const id of lease.permitIds) expect(page).toContain(`           ${id}, ends in `);
    expect(page).toContain(`           1. ${'a'.repeat(32)} for 3 permits, entry expires in `);
    await lease.release();
    await redis.admin.flushall();
  });

  it('says the count of a latch or of a counting semaphore', async () => {
    await open().locks.latches.get('jobs').trySetCount(3);
    const { page } = await inspect('jobs');
    expect(page).toMatch(/: semaphore or counting-semaphore or latch\n {2}count {4}3\n$/);
    await redis.admin.flushall();
  });

  it('says of what is no lock that it is none, and exits with 1', async () => {
    await redis.admin.rpush('mine', 'x');
    const args = ['inspect', 'mine', '--url', redis.url];
    const { code, out } = await run(args);
    expect(code).toBe(1);
    expect(out).toMatch(/^mine on 127\.0\.0\.1:\d+: .*another (kind|type)/);
    const json = await run([...args, '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toEqual({
      ...{ version: 1, name: 'mine' },
      nodes: [{ node: `127.0.0.1:${redis.port}`, problem: expect.any(String) }],
    });
    await redis.admin.flushall();
  });

  it('shows what a terminal would obey, in keys of any client that may write, as text', async () => {
    const hostile = 'a\u001b[2J\u009b31m\u202e\nok\u{e0001}:1';
    await redis.admin.hset('mine', 'mode', 'read', hostile, 1);
    await redis.admin.rpush('redisson_lock_queue:{mine}', hostile);
    const { page, holders } = await inspect('mine');
    const { out } = await run(['inspect', 'mine', '--json', '--url', redis.url]);
    const shown = 'a\\u001b[2J\\u009b31m\\u202e\\u000aok\\udb40\\udc01:1';
    expect(page.match(/a\\u.*c01:1/g)).toEqual(Array(2).fill(expect.stringContaining(shown)));
    expect(holders).toMatchObject([{ owner: hostile }]);
    for (const text of [page, out])
      expect(text.replaceAll('\n', '')).not.toMatch(UNSAFE_CHARACTERS);
    await redis.admin.flushall();
  });

  it('shows no more than the first hundred', async () => {
    const owners = Array.from({ length: 250 }, (_, i) => `java:${String(i)}`);
    await redis.admin.rpush('redisson_lock_queue:{a}', ...owners);
    const { page } = await inspect('a');
    expect(page).toContain('  waiting  fair: 250 callers\n');
    expect(page).toContain('\n           100. java:99\n           and 150 more\n');
    await redis.admin.flushall();
  });

  it('looks at each node of a red lock', async () => {
    const { code, out } = await run([
      ...['inspect', 'a', '--json', '--url', redis.url, '--url', redis.url],
    ]);
    expect(code).toBe(0);
    expect((JSON.parse(out) as { nodes: unknown[] }).nodes).toHaveLength(2);
  });

  it('needs no other rights than the locks, and says when one is missing', async () => {
    const rules = aclRules(Object.keys(PERMISSIONS) as PermissionsOf[], 'app:');
    await redis.admin.acl('SETUSER', 'shop', 'reset', 'resetchannels', 'on', '>pw', ...rules);
    const env = { REDIS_URL: redis.url, REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'pw' };
    const args = ['inspect', 'a', '--key-prefix', 'app:'];
    expect(await run(args, { env })).toMatchObject({ code: 0, err: '' });
    await redis.admin.acl('SETUSER', 'shop', '-zcard');
    const { code, err } = await run(args, { env });
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('lacks a permission') });
  });
});
