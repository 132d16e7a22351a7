import { describe, expect, it } from '@jest/globals';
import {
  FairLockService,
  LockService,
  ReadWriteLockService,
  SemaphoreService,
} from 'nestjs-redis-lock/core';
import { PERMISSIONS, type PermissionsOf } from '../../libs/redis-lock/src/cli/permissions.js';
import { aclRules } from '../support/acl-rules.js';
import { eventually, untilQueued, useLocks, useRealRedis } from '../support/set-up.js';
import { run, type RunOptions } from './command.js';
import { Person } from './terminal.js';

const redis = useRealRedis();
const open = useLocks(redis, (context) => ({
  plain: new LockService(context),
  fair: new FairLockService(context),
  readWrite: new ReadWriteLockService(context),
  semaphores: new SemaphoreService(context),
}));
const LEASE = { leaseTimeMs: 20_000 };

const unlock = (args: readonly string[], options: RunOptions = {}) =>
  run(['unlock', ...args, '--url', redis.url], options);

interface Report {
  version: number;
  nodes: { holders: { owner: string }[] }[];
  taken: { node: string; kind: string; holders: unknown[]; remainingMs: number; reason?: string }[];
}
const reported = ({ out }: { out: string }) => JSON.parse(out) as Report;

describe('unlock', () => {
  it('shows the holder, asks, and hands the lock to who waits', async () => {
    const [ours, other] = [open(), open({ pollIntervalMs: 60_000 })];
    const { owner } = await ours.locks.plain.acquire('a', LEASE);
    const waiting = other.locks.plain.acquire('a', { waitTimeMs: 60_000 });
    await untilQueued(redis, 'a', [other]);
    const person = new Person('y');
    const { code, out, err } = await unlock(['a', '--reason', 'TICKET-42'], { terminal: person });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(person.questions).toEqual(['Take the lock from its holder? [y/N] ']);
    expect(out).toContain(`  holder   ${owner}, once, ends in `);
    expect(out).toMatch(
      new RegExp(
        `^Taken away on 127\\.0\\.0\\.1:\\d+ from ${owner}: .* left; reason: "TICKET-42"$`,
        'm',
      ),
    );
    await (await waiting).release();
  });

  it.each(['', 'n', 'no', 'maybe', 'yesterday'])(
    'takes nothing away for the answer "%s", and exits with 1',
    async (answer) => {
      const lease = await open().locks.plain.acquire('a', LEASE);
      const { code, out } = await unlock(['a'], { terminal: new Person(answer) });
      expect(code).toBe(1);
      expect(out).toContain('Nothing was unlocked.\n');
      await lease.renew();
      await lease.release();
    },
  );

  it('takes nothing from who acquired it while the question was open', async () => {
    const { plain } = open().locks;
    const first = await plain.acquire('a', LEASE);
    const person = new Person('yes');
    let second = first;
    person.beforeAnswer = async () => {
      await first.release();
      second = await plain.acquire('a', LEASE);
    };
    const { code, out } = await unlock(['a'], { terminal: person });
    expect(code).toBe(0);
    expect(out).toContain('The lock was released meanwhile.\n');
    await second.renew();
    await second.release();
  });

  it('asks no question where the lock is not held', async () => {
    const person = new Person('y');
    const { code, out } = await unlock(['a'], { terminal: person });
    expect({ code, questions: person.questions }).toEqual({ code: 0, questions: [] });
    expect(out).toMatch(/: free\nThe lock is not held\.\n$/);
  });

  it('without a terminal, and with --json, needs --yes, and else sends nothing', async () => {
    const lease = await open().locks.plain.acquire('a', LEASE);
    const sent = await redis.commandsDuring(async () => {
      for (const [args, terminal] of [
        [['a'], undefined],
        [['a', '--json'], new Person('y')],
      ] as const) {
        const { code, out, err } = await unlock(args, terminal && { terminal });
        expect({ code, out }).toEqual({ code: 2, out: '' });
        expect(err).toContain('in a script add --yes');
      }
    });
    expect(sent).toEqual({});
    await lease.release();
  });

  it('--yes --json tells a program who held it, and why it was taken away', async () => {
    const { owner } = await open({ keyPrefix: 'app:' }).locks.plain.acquire('a', LEASE);
    const args = ['--yes', '--json', '--reason', 'ticket 7', '--key-prefix', 'app:'];
    const outcome = await unlock(['a', ...args]);
    expect(outcome).toMatchObject({ code: 0, err: '' });
    const { version, nodes, taken } = reported(outcome);
    expect({ version, shown: nodes[0]?.holders[0]?.owner }).toEqual({ version: 1, shown: owner });
    expect(taken).toEqual([
      {
        ...{ node: `127.0.0.1:${redis.port}`, kind: 'lock', reason: 'ticket 7' },
        ...{ holders: [{ owner, holdCount: 1 }], remainingMs: expect.any(Number) },
      },
    ]);
    const again = await unlock(['a', ...args]);
    expect({ code: again.code, taken: reported(again).taken }).toEqual({ code: 0, taken: [] });
  });

  it('frees a fair lock for the next of its queue, and all permits in use', async () => {
    const { fair, semaphores } = open().locks;
    await fair.acquire('a', LEASE);
    const next = open({ pollIntervalMs: 60_000 }).locks.fair.acquire('a', { waitTimeMs: 60_000 });
    await eventually(async () => (await redis.admin.llen('redisson_lock_queue:{a}')) === 1);
    expect(reported(await unlock(['a', '--yes', '--json'])).taken).toMatchObject([
      { kind: 'fair' },
    ]);
    await (await next).release();
    const pool = semaphores.get('pool');
    await pool.setPermits(3);
    await pool.acquire({ permits: 2, ...LEASE });
    expect(reported(await unlock(['pool', '--yes', '--json'])).taken).toMatchObject([
      { kind: 'semaphore', holders: [{}, {}] },
    ]);
    expect(await pool.availablePermits()).toBe(3);
    await redis.admin.del('pool');
  });

  it('needs --kind where a writer reads as well, and frees that side alone', async () => {
    const { read, write } = open().locks.readWrite.get('a');
    const both = write.using(async () => {
      await read.using(async () => {
        const { code, err } = await unlock(['a', '--yes']);
        expect(code).toBe(2);
        expect(err).toContain('add --kind write or --kind read');
        const freed = await unlock(['a', '--yes', '--json', '--kind', 'write']);
        expect(reported(freed).taken).toMatchObject([{ kind: 'write' }]);
        expect(await write.isLocked()).toBe(false);
        expect(await read.isLocked()).toBe(true);
      });
    });
    await expect(both).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('says so where another kind is held', async () => {
    const lease = await open().locks.plain.acquire('a', LEASE);
    const { code, out } = await unlock(['a', '--yes', '--kind', 'read']);
    expect(code).toBe(0);
    expect(out).toContain('The lock is not held as read.\n');
    await lease.release();
  });

  it('says how many hold it beside those that were shown', async () => {
    const { read } = open().locks.readWrite.get('a');
    for (let i = 0; i < 103; i++) await read.acquire(LEASE);
    expect((await unlock(['a', '--yes'])).out).toContain('\n3 more holders: run this again\n');
    expect((await unlock(['a', '--yes'])).out).not.toContain('more');
    expect(await read.isLocked()).toBe(false);
  });

  it('leaves alone what is no lock, and exits with 1', async () => {
    await redis.admin.rpush('mine', 'x');
    const { code, out } = await unlock(['mine', '--yes']);
    expect(code).toBe(1);
    expect(out).not.toContain('not held');
    expect(await redis.admin.lrange('mine', 0, -1)).toEqual(['x']);
    await redis.admin.del('mine');
  });

  it('needs no other rights than the locks', async () => {
    const rules = aclRules(Object.keys(PERMISSIONS) as PermissionsOf[], 'app:');
    await redis.admin.acl('SETUSER', 'shop', 'reset', 'resetchannels', 'on', '>pw', ...rules);
    await redis.admin.acl('LOG', 'RESET');
    await open({ keyPrefix: 'app:' }).locks.plain.acquire('a', LEASE);
    const env = { REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'pw' };
    const outcome = await unlock(['a', '--yes', '--json', '--key-prefix', 'app:'], { env });
    expect(reported(outcome).taken).toHaveLength(1);
    expect(await redis.admin.acl('LOG')).toEqual([]);
    await redis.admin.acl('DELUSER', 'shop');
  });
});
