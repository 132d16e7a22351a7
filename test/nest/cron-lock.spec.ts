import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  CronLock,
  CurrentLock,
  LeaseLostError,
  LockBackendError,
  LockConfigurationError,
  type CronLockOptions,
} from 'nestjs-redis-lock';
import { eventually, Gate, useRedis } from '../support/set-up.js';
import { useApplications, type RunningApp } from './applications.js';

const redis = useRedis();

let runs: string[] = [];
let gate: Gate | undefined;
const opened: RunningApp[] = [];

// A lock that is kept for its shortest time is still there when its application has gone.
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ nest }) => nest.close()));
  await redis.admin.flushall();
  runs = [];
  gate = undefined;
});

const apps = useApplications(redis);

@Injectable()
class Jobs {
  @Cron('0 0 1 1 *', { name: 'above' })
  @CronLock('report', { atLeastMs: 60_000 })
  async above(): Promise<string | undefined> {
    runs.push('above');
    await gate?.opened;
    return 'ran';
  }

  @CronLock('other-report', { atLeastMs: 60_000 })
  @Cron('0 0 1 1 *', { name: 'below' })
  async below(): Promise<string | undefined> {
    runs.push('below');
    return 'ran';
  }

  @Interval('often', 10)
  @CronLock('often', { atLeastMs: 60_000 })
  async often(): Promise<void> {
    runs.push('often');
  }

  @CronLock('short', { atLeastMs: 50, atMostMs: 200 })
  async tooLong(): Promise<void> {
    await eventually(() => CurrentLock.lease().state === 'lost');
  }
}

const start = async () => {
  const app = await apps.start({ imports: [ScheduleModule.forRoot()], providers: [Jobs] });
  opened.push(app);
  return { app, jobs: app.nest.get(Jobs), cron: app.nest.get(SchedulerRegistry) };
};

describe('@CronLock', () => {
  it('runs in one of many instances, in both orders with @Cron', async () => {
    const [one, other] = [await start(), await start()];
    const of = (text: string) => runs.filter((run) => run === text).length;
    for (const name of ['above', 'below']) {
      await Promise.all([one, other].map(({ cron }) => cron.getCronJob(name).fireOnTick()));
      await eventually(() => of(name) === 1);
    }
    await eventually(() => of('often') === 1);
    expect(runs.sort()).toEqual(['above', 'below', 'often']);
  });

  it('skips at once while another instance runs it', async () => {
    const [one, other] = [await start(), await start()];
    gate = new Gate();
    const running = one.jobs.above();
    await eventually(() => runs.includes('above'));
    expect(await other.jobs.above()).toBeUndefined();
    gate.open();
    expect(await running).toBe('ran');
  });

  it('is kept for its shortest time, also when its instance has gone', async () => {
    const [one, other] = [await start(), await start()];
    expect(await one.jobs.above()).toBe('ran');
    expect(await one.jobs.above()).toBeUndefined();
    await one.app.nest.close();
    expect(await other.jobs.above()).toBeUndefined();
    const ttl = await redis.admin.pttl('report');
    expect(ttl).toBeGreaterThan(30_000);
    expect(ttl).toBeLessThanOrEqual(60_000);
    await redis.admin.pexpire('report', 1);
    await eventually(async () => (await other.jobs.above()) === 'ran');
  });

  it('loses its lock after its longest time', async () => {
    const { jobs } = await start();
    await expect(jobs.tooLong()).rejects.toThrow(LeaseLostError);
  });

  it('never runs because Redis is away', async () => {
    const { jobs } = await start();
    await redis.admin.acl('SETUSER', 'default', '-evalsha', '-eval');
    try {
      await expect(jobs.below()).rejects.toThrow(LockBackendError);
    } finally {
      await redis.admin.acl('SETUSER', 'default', '+@all');
    }
    expect(runs).not.toContain('below');
  });

  it.each<[string, unknown, unknown]>([
    ['the name of the job must be a text', 5, { atLeastMs: 10 }],
    ['it needs a plain object of options', 'a', undefined],
    ['atLeastMs must be a whole number', 'a', {}],
    ['atLeastMs must be a whole number', 'a', { atLeastMs: 0 }],
    ['atLeastMs must be a whole number', 'a', { atLeastMs: '1m' }],
    ['atMostMs must be a whole number', 'a', { atLeastMs: 10, atMostMs: NaN }],
    ['atMostMs must not be less than atLeastMs', 'a', { atLeastMs: 20, atMostMs: 10 }],
    ['unknown option "waitTimeMs"', 'a', { atLeastMs: 10, waitTimeMs: 5 }],
    ['the key must not be empty', '', { atLeastMs: 10 }],
    ['cannot be filled', 'a<id>', { atLeastMs: 10 }],
    ['onBackendError must be', 'a', { atLeastMs: 10, onBackendError: 'skip' }],
  ])('is refused when the class is defined: %s', (text, name, options) => {
    const define = () => {
      class Wrong {
        @CronLock(name as string, options as CronLockOptions)
        async run(): Promise<void> {
          // Never called.
        }
      }
      return Wrong;
    };
    expect(define).toThrow(LockConfigurationError);
    expect(define).toThrow(text);
  });
});
