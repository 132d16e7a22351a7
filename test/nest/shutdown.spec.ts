import { describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import {
  Controller,
  Inject,
  Injectable,
  Module,
  Param,
  Post,
  type BeforeApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  CurrentLock,
  LeaseLostError,
  LockService,
  LockShutdownError,
  RedisLockModule,
  WithLock,
} from 'nestjs-redis-lock';
import { eventually, Gate, useRealRedis, useWorkers, watch } from '../support/set-up.js';
import type { Api } from './application.worker.js';
import { useApplications } from './applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);
const workers = useWorkers();

@Injectable()
@Controller('jobs')
class Jobs {
  gate = new Gate();
  inside = 0;

  @Post(':id')
  @WithLock('job_<id>')
  async run(@Param('id') id: string): Promise<string> {
    this.inside += 1;
    await this.gate.opened;
    return this.nested(id);
  }

  @WithLock((id: string) => `job_${id}`)
  async nested(id: string): Promise<string> {
    return CurrentLock.lease().name;
  }
}

@Module({ controllers: [Jobs] })
class AppOfJobs {}

const outcomes = (calls: readonly Promise<unknown>[]) =>
  Promise.all(calls.map((call) => call.catch((error: unknown) => (error as Error).name)));

describe('app.close()', () => {
  it('rejects the waiters, lets the holders finish, and leaves nothing', async () => {
    const app = await apps.start({ controllers: [Jobs] });
    const jobs = app.nest.get(Jobs);
    const keys = Array.from({ length: 8 }, (_, i) => String(i));
    const holders = keys.map((key) => jobs.run(key));
    await eventually(() => jobs.inside === keys.length);
    const waiters = keys.flatMap((key) => [jobs.run(key), app.locks.acquire(`job_${key}`)]);
    await eventually(async () => {
      expect((await redis.wakeUpChannels()).length).toBe(keys.length);
    });

    const closing = watch(app.nest.close());
    expect(new Set(await outcomes(waiters))).toEqual(new Set(['LockShutdownError']));
    await expect(jobs.run('new')).rejects.toThrow(LockShutdownError);
    expect(closing.state).toBe('pending');
    // The holders may end the work that they began, nested calls included.
    jobs.gate.open();
    expect(await outcomes(holders)).toEqual(keys.map((key) => `job_${key}`));
    await closing.promise;
    expect(await redis.keys()).toEqual([]);
    await eventually(async () => {
      expect(await redis.clients()).toEqual([]);
    });
  });

  it('takes the lock from a holder that does not finish, and tells him', async () => {
    const app = await apps.start({ controllers: [Jobs] }, { shutdownTimeoutMs: 50 });
    const jobs = app.nest.get(Jobs);
    const running = watch(jobs.run('7'));
    await eventually(() => jobs.inside === 1);
    await app.nest.close();
    expect(await redis.keys()).toEqual([]);
    expect(running.state).toBe('pending');
    jobs.gate.open();
    await expect(running.promise).rejects.toMatchObject({
      ...{ code: 'LEASE_LOST', reason: 'shutdown' },
      ...{ confirmedAt: expect.any(Date), confirmedAgoMs: expect.any(Number) },
    });
  });

  it('ends requests under load, each with an answer', async () => {
    const app = await apps.start({ controllers: [Jobs] });
    const jobs = app.nest.get(Jobs);
    const requests = Array.from({ length: 20 }, (_, i) =>
      app.request(`/jobs/${String(i % 4)}`, { method: 'POST' }).then(({ status }) => status),
    );
    await eventually(() => jobs.inside === 4);
    jobs.gate.open();
    await app.nest.close();
    for (const status of await outcomes(requests))
      expect([201, 500, 'TypeError']).toContain(status);
    expect(await redis.keys()).toEqual([]);
  });

  it('leaves the lock to a request as long as the server lets it finish', async () => {
    const options = { logger: false, abortOnError: false } as const;
    const locks = RedisLockModule.forRoot({ connection: redis.connection, shutdownTimeoutMs: 0 });
    const module = { module: AppOfJobs, imports: [locks] };
    const app = await apps.add(await NestFactory.create(module, options));
    const jobs = app.nest.get(Jobs);
    const request = app.request('/jobs/1', { method: 'POST', headers: { connection: 'close' } });
    await eventually(() => jobs.inside === 1);

    const closing = watch(app.nest.close());
    await eventually(() => !(app.nest.getHttpServer() as Server).listening);
    expect(await redis.admin.exists('job_1')).toBe(1);
    expect(closing.state).toBe('pending');
    jobs.gate.open();
    expect(await (await request).text()).toBe('job_1');
    await closing.promise;
    expect(await redis.admin.exists('job_1')).toBe(0);
  });

  it('lets an application use locks in its onModuleDestroy, and not after that', async () => {
    const outcomes: string[] = [];
    @Injectable()
    class CleanUp implements OnModuleDestroy, BeforeApplicationShutdown {
      constructor(@Inject(LockService) private readonly locks: LockService) {}

      onModuleDestroy(): Promise<void> {
        return this.run('destroy');
      }

      beforeApplicationShutdown(): Promise<void> {
        return this.run('shutdown');
      }

      private async run(phase: string): Promise<void> {
        await this.locks
          .using('clean-up', () => outcomes.push(`${phase}: done`))
          .catch((error: unknown) => outcomes.push(`${phase}: ${(error as Error).name}`));
      }
    }
    const app = await apps.start({ providers: [CleanUp] });
    await app.nest.close();
    expect(outcomes).toEqual(['destroy: done', 'shutdown: LockShutdownError']);
  });

  it('keeps the connection of the caller', async () => {
    const client = new Redis(redis.url, { connectionName: 'theirs' });
    try {
      const app = await apps.start({ controllers: [Jobs] }, { connection: client });
      const jobs = app.nest.get(Jobs);
      const holder = jobs.run('7');
      await eventually(() => jobs.inside === 1);
      const waiter = app.locks.acquire('job_7');
      await eventually(async () => {
        expect((await redis.wakeUpChannels()).length).toBe(1);
      });
      jobs.gate.open();
      const closing = app.nest.close();
      await outcomes([holder, waiter, closing]);
      expect(await client.ping()).toBe('PONG');
      await eventually(async () => {
        expect(await redis.clients()).toEqual(['theirs']);
      });
    } finally {
      client.disconnect();
    }
  });

  it('does not wait for a Redis that is gone', async () => {
    const app = await apps.start({ controllers: [Jobs] }, { shutdownTimeoutMs: 50 });
    const jobs = app.nest.get(Jobs);
    const running = watch(jobs.run('7'));
    await eventually(() => jobs.inside === 1);
    redis.pause();
    try {
      await app.nest.close();
    } finally {
      redis.resume();
    }
    jobs.gate.open();
    await expect(running.promise).rejects.toThrow(LeaseLostError);
    await redis.admin.flushall();
  });
});

describe('a process', () => {
  const file = new URL('application.worker.ts', import.meta.url);

  it('exits by itself after app.close() under load', async () => {
    const worker = await workers.start<Api>(file);
    await worker.call.start(redis.url, false);
    await worker.call.load();
    await eventually(() => worker.reports.includes('held'));
    await worker.call.close();
    await eventually(() => {
      expect([...worker.reports].sort()).toEqual(['Error', 'LockShutdownError', 'held']);
    });
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
    expect(await redis.keys()).toEqual([]);
  });

  it('releases on SIGTERM with enableShutdownHooks()', async () => {
    const worker = await workers.start<Api>(file);
    await worker.call.start(redis.url, true);
    await worker.call.load();
    await eventually(() => worker.reports.includes('held'));
    expect(await redis.admin.exists('job')).toBe(1);
    worker.signal('SIGTERM');
    expect(await worker.exited).toMatchObject({ signal: 'SIGTERM' });
    expect(await redis.keys()).toEqual([]);
  });

  it('ends all that it has begun on SIGTERM under load, beside another one', async () => {
    const instances = await Promise.all([1, 2].map(() => workers.start<Api>(file)));
    await Promise.all(instances.map(({ call }) => call.start(redis.url, true, 30_000)));
    await Promise.all(instances.map(({ call }) => call.crowd(redis.url, 24, 3)));
    const countOf = async (what: string) => Number(await redis.admin.hget('counts', what));
    await eventually(async () => (await countOf('ended')) > 100);
    for (const instance of instances) instance.signal('SIGTERM');
    const exits = await Promise.all(instances.map(({ exited }) => exited));
    expect(exits).toMatchObject([
      { signal: 'SIGTERM', stderr: '' },
      { signal: 'SIGTERM', stderr: '' },
    ]);
    expect(await countOf('ended')).toBe(await countOf('begun'));
    await redis.admin.del('counts');
    const lasting = /^nestjs_lock_opened:/;
    expect((await redis.keys()).filter((key) => !lasting.test(key))).toEqual([]);
  });

  it('exits by itself when its application could not be made', async () => {
    const worker = await workers.start<Api>(file);
    await expect(worker.call.failToInit(redis.url)).rejects.toThrow('one and the same server');
    await eventually(async () => (await redis.clients()).length === 0);
    await expect(worker.call.failToStart(redis.url)).rejects.toThrow('no X');
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
  });
});
