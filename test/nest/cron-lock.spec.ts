import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  CronLock,
  CurrentLock,
  LeaseLostError,
  LockBackendError,
  LockConfigurationError,
  LockKey,
  LockKeyError,
  type CronLockOptions,
} from 'nestjs-redis-lock';
import { eventually, Gate, useRealRedis, useWorkers } from '../support/set-up.js';
import type { Api } from './application.worker.js';
import { useApplications, type RunningApp } from './applications.js';

const redis = useRealRedis();

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
const workers = useWorkers();
const FILE = new URL('application.worker.ts', import.meta.url);

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

  @CronLock('slots', { per: 'hour' })
  async hourly(): Promise<string | undefined> {
    runs.push('hourly');
    await gate?.opened;
    return 'ran';
  }

  @CronLock('report_<tenant>', { per: 'hour' })
  async ofTenant(@LockKey('tenant') tenant: string): Promise<string | undefined> {
    return `ran for ${tenant}`;
  }

  @CronLock('retried', { per: 'day', holdAfter: 'success' })
  async retriedInItsSlot(): Promise<string | undefined> {
    return this.#failAtFirst('slot');
  }

  @CronLock('retried', { per: 'day', profile: 'retried' })
  async retriedByItsProfile(): Promise<string | undefined> {
    return this.#failAtFirst('profile');
  }

  @CronLock('retried', { atLeastMs: 60_000, holdAfter: 'success' })
  async retried(): Promise<string | undefined> {
    return this.#failAtFirst('time');
  }

  #failAtFirst(text: string): string {
    runs.push(text);
    if (runs.filter((run) => run === text).length === 1) throw new Error('the first run fails');
    return 'ran';
  }

  @CronLock('part', { per: 3_000, atLeastMs: 10 })
  async parts(): Promise<string | undefined> {
    return 'ran';
  }

  @CronLock('from-profile', { profile: 'job' })
  async fromProfile(): Promise<string | undefined> {
    return `${CurrentLock.lease().remainingMs <= 20_000 ? 'short' : 'long'} lease`;
  }

  @CronLock('short', { atLeastMs: 50, atMostMs: 200 })
  async tooLong(): Promise<void> {
    await eventually(() => CurrentLock.lease().state === 'lost');
  }
}

const profiles = {
  job: { waitTimeMs: 60_000, minHoldMs: 10_000, leaseTimeMs: 20_000 },
  none: {},
  retried: { holdAfter: 'success' as const },
};

const start = async () => {
  const parts = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
  const app = await apps.start(parts, { profiles });
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

  it.each(['retried', 'retriedInItsSlot', 'retriedByItsProfile'] as const)(
    'runs again after a failure, and not after a success: %s',
    async (job) => {
      const [one, other] = [await start(), await start()];
      await expect(one.jobs[job]()).rejects.toThrow('the first run fails');
      expect(await other.jobs[job]()).toBe('ran');
      expect([await one.jobs[job](), await other.jobs[job]()]).toEqual([undefined, undefined]);
    },
  );

  it('skips at once while another instance runs it', async () => {
    const [one, other] = [await start(), await start()];
    gate = new Gate();
    const running = one.jobs.above();
    await eventually(() => runs.includes('above'));
    // After a crash no other instance runs it before its shortest time is over.
    expect(await redis.admin.pttl('report')).toBeGreaterThan(30_000);
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

  it('takes its times from a profile, and never waits', async () => {
    const [one, other] = [await start(), await start()];
    expect(await one.jobs.fromProfile()).toBe('short lease');
    expect(await other.jobs.fromProfile()).toBeUndefined();
    expect(await redis.admin.pttl('from-profile')).toBeGreaterThan(0);
  });

  it.each<[CronLockOptions, string]>([
    [{ profile: 'none' }, '@CronLock("wrong"): set per'],
    [{ profile: 'job', per: 10_000 }, '@CronLock("wrong"): atLeastMs must be less than per'],
    [{ profile: 'job', atMostMs: 5_000 }, 'leaseTimeMs must not be less than minHoldMs'],
    [{ profile: 'unknown', per: 'hour' }, 'there is no profile "unknown"'],
  ])('does not start with %p, whose profile does not suit', async (options, problem) => {
    @Injectable()
    class Wrong {
      @CronLock('wrong', options)
      async run(): Promise<void> {
        // Never called.
      }
    }
    const starting = apps.start({ providers: [Wrong] }, { profiles });
    await expect(starting).rejects.toThrow(LockConfigurationError);
    await expect(starting).rejects.toThrow(problem);
  });

  it('loses its lock after its longest time', async () => {
    const { jobs } = await start();
    await expect(jobs.tooLong()).rejects.toThrow(LeaseLostError);
  });

  it('never runs because Redis is away', async () => {
    const { jobs } = await start();
    const running = redis.without(['evalsha', 'eval'], () => jobs.below());
    await expect(running).rejects.toThrow(LockBackendError);
    expect(runs).not.toContain('below');
  });

  describe('per slot', () => {
    const { now } = Date;
    afterEach(() => {
      Date.now = now;
    });
    const hourlyRuns = () => runs.filter((run) => run === 'hourly').length;
    /** Calls the job of an instance whose clock shows this time. */
    const at = async <T>(time: string, job: () => Promise<T>): Promise<T> => {
      const shown = Date.parse(`2026-11-25T${time}Z`);
      Date.now = () => shown;
      try {
        return await job();
      } finally {
        Date.now = now;
      }
    };

    it('runs in one instance, and not again in one that is late', async () => {
      const [one, other, third] = [await start(), await start(), await start()];
      const calls = [one, other, third].map(
        ({ jobs }) =>
          () =>
            jobs.hourly(),
      );
      const answers = await at('03:00:00.001', () => Promise.all(calls.map((call) => call())));
      expect(answers.sort()).toEqual(['ran', undefined, undefined]);
      for (const time of ['03:00:00.600', '03:17:00', '03:59:59.400']) {
        for (const { jobs } of [one, other, third]) {
          expect(await at(time, () => jobs.hourly())).toBeUndefined();
        }
      }
      expect(hourlyRuns()).toBe(1);
      // A late call has not taken the lock of the job.
      expect(await redis.admin.exists('slots')).toBe(0);
      const ttl = await redis.admin.pttl('slots@2026-11-25T03:00Z');
      expect(ttl).toBeGreaterThan(3_600_000);
      expect(ttl).toBeLessThanOrEqual(7_200_000);
    });

    it('runs in the next slot, whatever instance ran before', async () => {
      const [one, other] = [await start(), await start()];
      expect(await at('03:00:00', () => one.jobs.hourly())).toBe('ran');
      expect(await at('04:00:00', () => one.jobs.hourly())).toBe('ran');
      // Its clock is behind, or it is late.
      expect(await at('03:30:00', () => other.jobs.hourly())).toBeUndefined();
      expect(await at('05:00:00', () => other.jobs.hourly())).toBe('ran');
    });

    it('counts a call that comes up to half a second early to the slot that begins', async () => {
      const [one, other] = [await start(), await start()];
      expect(await at('02:00:00', () => one.jobs.hourly())).toBe('ran');
      expect(await at('02:59:59.500', () => one.jobs.hourly())).toBe('ran');
      expect(await at('03:00:00.100', () => other.jobs.hourly())).toBeUndefined();
      expect(await at('02:59:59.499', () => other.jobs.hourly())).toBeUndefined();
    });

    it('names slots of any length by their begin', async () => {
      const { jobs } = await start();
      for (const time of ['03:00:01', '03:00:03']) {
        expect(await at(time, () => jobs.parts())).toBe('ran');
        expect(await at(time, () => jobs.parts())).toBeUndefined();
        await eventually(async () => (await redis.admin.exists('part')) === 0);
      }
      const keys = await redis.admin.keys('part@*');
      expect(keys.sort()).toEqual(['part@2026-11-25T03:00:03Z', 'part@2026-11-25T03:00Z']);
    });

    it('runs once for each name that a template makes', async () => {
      const [one, other] = [await start(), await start()];
      for (const tenant of ['a', 'b', 'c@d']) {
        expect(await at('03:00:00', () => one.jobs.ofTenant(tenant))).toBe(`ran for ${tenant}`);
        expect(await at('03:30:00', () => other.jobs.ofTenant(tenant))).toBeUndefined();
        expect(await at('04:00:00', () => other.jobs.ofTenant(tenant))).toBe(`ran for ${tenant}`);
      }
      expect(await redis.admin.exists('report_a@2026-11-25T03:00Z')).toBe(1);
      await expect(one.jobs.ofTenant('')).rejects.toThrow(LockKeyError);
    });

    it('has no run while that of the former slot still works', async () => {
      const [one, other] = [await start(), await start()];
      gate = new Gate();
      const running = at('03:00:00', () => one.jobs.hourly());
      await eventually(() => hourlyRuns() === 1);
      expect(await at('04:00:00', () => other.jobs.hourly())).toBeUndefined();
      gate.open();
      await running;
      expect(await at('04:00:01', () => other.jobs.hourly())).toBeUndefined();
      expect(await at('05:00:00', () => other.jobs.hourly())).toBe('ran');
    });

    it('does not run again after the death of its instance, and runs in the next slot', async () => {
      const worker = await workers.start<Api>(FILE);
      await worker.call.start(redis.url, false);
      await worker.call.runAt('2026-11-25T03:00:00Z');
      await eventually(() => worker.reports.includes('held'));
      await worker.kill();
      const { jobs } = await start();
      expect(await at('03:00:10', () => jobs.hourly())).toBeUndefined();
      // The lease of the dead instance ends.
      await redis.admin.pexpire('slots', 1);
      await eventually(async () => (await redis.admin.exists('slots')) === 0);
      expect(await at('03:00:40', () => jobs.hourly())).toBeUndefined();
      expect(await at('04:00:00', () => jobs.hourly())).toBe('ran');
    });

    it('never runs because Redis is away', async () => {
      const { jobs } = await start();
      const running = redis.without(['evalsha', 'eval'], () => jobs.hourly());
      await expect(running).rejects.toThrow(LockBackendError);
      expect(hourlyRuns()).toBe(0);
    });
  });

  it.each<[string, unknown, unknown]>([
    ['the name of the job must be a text', 5, { atLeastMs: 10 }],
    ['it needs a plain object of options', 'a', undefined],
    ['set per', 'a', {}],
    ['profile must be the name of a profile', 'a', { profile: 5 }],
    ['set per', 'a', { per: undefined, atMostMs: 60_000 }],
    ['per must be a whole number of milliseconds from 1000', 'a', { per: 999 }],
    ["'minute', 'hour' or 'day'", 'a', { per: 'week' }],
    ['per must be', 'a', { per: 86_400_001 }],
    ['per must be whole seconds', 'a', { per: 1_500 }],
    ['per must be', 'a', { per: null, atLeastMs: 10 }],
    ['per must be', 'a', { per: 'toString' }],
    ['atLeastMs must be a whole number', 'a', { atLeastMs: 0 }],
    ['atLeastMs must be a whole number', 'a', { atLeastMs: '1m' }],
    ['atMostMs must be a whole number', 'a', { atLeastMs: 10, atMostMs: NaN }],
    ['atLeastMs must be less than per', 'a', { per: 'minute', atLeastMs: 60_000 }],
    ['atLeastMs must be less than per', 'a', { per: 3_000, atLeastMs: 3_000 }],
    ['atMostMs must not be less than atLeastMs', 'a', { atLeastMs: 20, atMostMs: 10 }],
    ['unknown option "waitTimeMs"', 'a', { atLeastMs: 10, waitTimeMs: 5 }],
    ['the key must not be empty', '', { atLeastMs: 10 }],
    ['it is longer than 1024 bytes', 'a'.repeat(1_007), { per: 'hour' }],
    ['it is longer than 1024 bytes', 'a'.repeat(1_004), { per: 90_000 }],
    ['it is longer than 1024 bytes', 'a'.repeat(1_025), { atLeastMs: 10 }],
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
