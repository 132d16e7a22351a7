import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { LockService, RedisLockModule } from 'nestjs-redis-lock';
import { doctor } from '../cli/command.js';
import { pageOf } from '../support/proofs.js';
import { eventually, useRealRedis, useWorkers, watch } from '../support/set-up.js';
import type { Api as KubernetesApi } from './kubernetes.worker.js';
import type { Api as LeaderApi } from './leader.worker.js';

const redis = useRealRedis();
const workers = useWorkers();

afterEach(() => redis.admin.flushall());

@Module({})
class ShopModule {}

describe('leader election', () => {
  /** The first one leads, and the second one waits. */
  const start = async (settings: object = {}) => {
    const file = new URL('leader.worker.ts', import.meta.url);
    const first = await workers.start<LeaderApi>(file);
    const second = await workers.start<LeaderApi>(file);
    await first.call.start(redis.url, settings);
    await eventually(() => first.reports.includes('leads'));
    await second.call.start(redis.url, settings);
    await eventually(() => redis.admin.exists('nestjs_lock_queue:{leader}').then(Boolean));
    expect(second.reports).toEqual([]);
    return { first, second };
  };

  it('goes to another instance when the leader is killed, at the end of its lease', async () => {
    const { first, second } = await start({ watchdogLeaseMs: 1_000 });
    await first.kill();
    await eventually(() => second.reports.includes('leads'));
    expect(second.reports).toEqual(['leads']);
  });

  it('goes over at once on SIGTERM, after the work has ended', async () => {
    const { first, second } = await start();
    first.signal('SIGTERM');
    expect(await first.exited).toMatchObject({ signal: 'SIGTERM', stderr: '' });
    expect(first.reports).toEqual(['leads', 'ends']);
    // The lease of the first one would last for 30 s.
    await eventually(() => second.reports.includes('leads'));
  });

  it('ends the work of a leader that has lost the lock, and goes on', async () => {
    const { first, second } = await start({ watchdogLeaseMs: 1_000 });
    await redis.admin.del('leader');
    await eventually(() => first.reports.includes('ends'));
    await eventually(() => [...first.reports.slice(2), ...second.reports].includes('leads'));
    expect(await redis.admin.hlen('leader')).toBe(1);
  });
});

describe('a shutdown by Kubernetes', () => {
  const start = async () => {
    const file = new URL('kubernetes.worker.ts', import.meta.url);
    const worker = await workers.start<KubernetesApi>(file, { env: { REDIS_URL: redis.url } });
    const url = (await worker.call.start()).replace('[::1]', 'localhost');
    const ask = (path: string, method = 'GET') =>
      fetch(`${url}${path}`, { method, headers: { connection: 'close' } });
    return { worker, ask, pay: () => ask('/orders/7/payment', 'POST').then((its) => its.text()) };
  };

  it('ends requests, releases their locks, and then another instance goes on', async () => {
    const [one, two] = [await start(), await start()];
    expect((await one.ask('/health/ready')).status).toBe(200);
    expect((await one.ask('/health/live')).status).toBe(200);
    await one.worker.call.shut();
    const first = one.pay();
    await eventually(() => one.worker.reports.includes('inside'));
    const second = watch(two.pay());
    await eventually(() => redis.admin.exists('nestjs_lock_queue:{order_7}').then(Boolean));

    one.worker.signal('SIGTERM');
    // New calls find no lock any more, and the probe fails, while the open request goes on.
    await eventually(async () => (await one.ask('/health/ready')).status === 503);
    expect((await one.ask('/orders/8/payment', 'POST')).status).toBe(503);
    expect(await redis.admin.exists('order_7')).toBe(1);
    expect(second.state).toBe('pending');

    await one.worker.call.open();
    expect(await first).toBe('7 is paid');
    expect(await second.promise).toBe('7 is paid');
    expect(await one.worker.exited).toMatchObject({ signal: 'SIGTERM', stderr: '' });
    expect(await redis.admin.exists('order_7')).toBe(0);
    expect((await two.ask('/health/ready')).status).toBe(200);
  });
});

describe('a managed Redis', () => {
  const rules = {
    /** As most providers have it. */
    'no CONFIG': ['~*', '&*', '+@all', '-config'],
    /** Those of docs/security.md, without the right to ask how the server is. */
    'no CONFIG, and no INFO': [
      ...(/<!-- acl: LockService -->.*?>\*{3}\s+(.*?)```/s
        .exec(pageOf('docs/security.md'))?.[1]
        ?.trim()
        .split(/\s+/) ?? []),
      '-info',
    ],
  };
  const env = { REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'pw' };
  const be = (may: keyof typeof rules) =>
    redis.admin.acl('SETUSER', 'shop', 'reset', 'resetchannels', 'on', '>pw', ...rules[may]);
  const settings = async (maxmemory: string, policy: string) => {
    await redis.admin.config('SET', 'maxmemory', maxmemory);
    await redis.admin.config('SET', 'maxmemory-policy', policy);
  };
  const ask = () => doctor(['--url', redis.url, '--key-prefix', 'app:'], { env });

  afterEach(async () => {
    await settings('0', 'noeviction');
    await redis.admin.acl('DELUSER', 'shop');
  });

  it('that refuses CONFIG: INFO tells the doctor what is evicted', async () => {
    await be('no CONFIG');
    const client = new Redis(redis.url.replace('//', '//shop:pw@'));
    await expect(client.config('GET', 'maxmemory-policy')).rejects.toThrow(/NOPERM/);
    client.disconnect();
    const fit = await ask();
    expect([fit.code, fit.of('eviction')]).toMatchObject([0, [{ status: 'ok' }]]);
    expect(fit.of('lock')).toMatchObject([{ status: 'ok' }]);
    expect(fit.of('persistence')).toMatchObject([{ found: expect.stringMatching(/at most/) }]);
    await settings('100mb', 'volatile-lru');
    const unfit = await ask();
    expect([unfit.code, unfit.of('eviction')]).toMatchObject([1, [{ status: 'fail' }]]);
  });

  it('that refuses INFO as well: the doctor says what has to be looked at by hand', async () => {
    await be('no CONFIG, and no INFO');
    await settings('100mb', 'volatile-lru');
    const { code, findings, of } = await ask();
    const unchecked = findings.filter(({ found }) => found.startsWith('could not check'));
    expect(unchecked.map(({ check, status }) => `${check} ${status}`)).toEqual([
      ...['server warn', 'role warn', 'eviction warn', 'persistence warn', 'replicas warn'],
    ]);
    expect(code).toBe(0);
    expect(of('lock')).toMatchObject([{ status: 'ok' }]);
  });

  it.each(Object.keys(rules) as (keyof typeof rules)[])(
    'takes locks by a user with %s',
    async (may) => {
      await be(may);
      await redis.admin.acl('LOG', 'RESET');
      const warn = jest.spyOn(console, 'warn').mockReturnValue();
      const connection = redis.url.replace('//', '//shop:pw@');
      const locks = RedisLockModule.forRoot({ connection, keyPrefix: 'app:' });
      const module = { module: ShopModule, imports: [locks] };
      const app = await NestFactory.createApplicationContext(module, { logger: false });
      try {
        const service = app.get(LockService);
        const lease = await service.acquire('product_1');
        const next = service.acquire('product_1');
        await lease.release();
        await (await next).release();
        const log = JSON.stringify(await redis.admin.acl('LOG', 1_000));
        expect(log).not.toMatch(/"config\b/i);
      } finally {
        await app.close();
        warn.mockRestore();
      }
    },
  );
});
