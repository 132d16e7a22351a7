import { describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  HealthCheckService,
  HealthIndicatorService,
  TerminusModule,
} from '@nestjs/terminus';
import { RedisLockModule } from 'nestjs-redis-lock';
import { LockHealthIndicator } from 'nestjs-redis-lock/terminus';
import { useApplications } from './applications.js';
import { eventually, useProxy, useRealRedis } from '../support/set-up.js';

const redis = useRealRedis();
const proxy = useProxy(redis);
const apps = useApplications(redis);

@Controller('health')
class Health {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  @Get('ready')
  @HealthCheck()
  ready() {
    return this.health.check([
      () => this.locks.isHealthy('locks', { timeoutMs: 250 }),
      () => this.locks.isHealthy('cache', { connection: 'cache' }),
    ]);
  }

  @Get('wrong')
  @HealthCheck()
  wrong() {
    return this.health.check([
      () => this.locks.isHealthy('unknown', { connection: 'unknown' }),
      () => this.locks.isHealthy('never', { timeoutMs: -1 }),
      () => this.locks.isHealthy('typo', { timeoutMS: 5 } as object),
      () => this.locks.isHealthy('nothing', null as never),
    ]);
  }
}

describe('LockHealthIndicator', () => {
  const start = async () => {
    const imports = [
      TerminusModule.forRoot({ logger: false }),
      RedisLockModule.forRoot({ name: 'cache', connection: redis.connection }),
    ];
    const metadata = { imports, providers: [LockHealthIndicator], controllers: [Health] };
    const connection = proxy.current.url.replace('//', '//default:pass-word@');
    const app = await apps.start(metadata, { connection });
    const check = async (path = 'ready') => {
      const response = await app.request(`/health/${path}`);
      const text = await response.text();
      expect(text).not.toContain('pass-word');
      return { code: response.status, ...(JSON.parse(text) as { details: object }) };
    };
    await eventually(async () => expect((await check()).code).toBe(200));
    return { locks: app.locks, check };
  };

  it('tells what each connection does while Redis can be used', async () => {
    const { locks, check } = await start();
    const pingMs = expect.any(Number) as unknown;
    const idle = { isUp: true, isHearing: true, held: 0, suspect: 0, waiting: 0 };
    const up = { status: 'up', pingMs, ...idle };
    const cache = { ...up, connection: 'cache' };
    expect((await check()).details).toEqual({ locks: { ...up, connection: 'default' }, cache });
    const lease = await locks.acquire('a');
    const waiting = locks.acquire('a');
    expect(await check()).toMatchObject({ details: { locks: { held: 1, waiting: 1 }, cache } });
    await lease.release();
    await (await waiting).release();
  });

  it('is down while Redis is away, and up again after that', async () => {
    const { check } = await start();
    proxy.current.refuse();
    proxy.current.cut();
    const message = expect.stringContaining('there is no connection to Redis');
    const down = { status: 'down', isUp: false, message };
    await eventually(async () => {
      const details = { locks: down, cache: { status: 'up' } };
      expect(await check()).toMatchObject({ code: 503, details });
    });
    await proxy.current.heal();
    await eventually(async () => expect((await check()).code).toBe(200));
  });

  it('is down while Redis says nothing', async () => {
    const { check } = await start();
    proxy.current.blackhole();
    const message = 'Redis did not answer for 250 ms';
    expect(await check()).toMatchObject({ code: 503, details: { locks: { message } } });
    await proxy.current.heal();
    proxy.current.cut();
    await eventually(async () => expect((await check()).code).toBe(200));
  });

  it('is down while Redis answers, and does not confirm what is held', async () => {
    const status = { connection: 'default', isUp: true, isHearing: false, held: 2, waiting: 3 };
    const monitor = { ping: () => Promise.resolve(0.1), status: () => ({ ...status, suspect: 1 }) };
    const modules = { get: () => monitor } as never;
    const indicator = new LockHealthIndicator(new HealthIndicatorService(), modules);
    const message =
      'Redis has not confirmed 1 of 2 holds in time: they expire unless a renewal succeeds';
    expect(await indicator.isHealthy('locks')).toEqual({
      locks: { status: 'down', message, pingMs: 1, ...status, suspect: 1 },
    });
  });

  it('is down, and does not fail, when it is asked what makes no sense', async () => {
    const { check } = await start();
    expect(await check('wrong')).toMatchObject({
      code: 503,
      details: {
        unknown: {
          status: 'down',
          message:
            'There is no connection "unknown": import RedisLockModule.forRoot({ name: \'unknown\' })',
        },
        never: {
          status: 'down',
          message: 'timeoutMs must be a whole number from 1 to 60000, not -1',
        },
        typo: {
          status: 'down',
          message:
            'LockHealthIndicator.isHealthy(): unknown option "timeoutMS"; the options are connection, timeoutMs',
        },
        nothing: {
          status: 'down',
          message: 'LockHealthIndicator.isHealthy(): the options must be a plain object, not null',
        },
      },
    });
  });
});
