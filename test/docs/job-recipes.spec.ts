import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { BullModule, getQueueToken } from '@nestjs/bullmq';
import type { Provider } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { CurrentLock } from 'nestjs-redis-lock';
import { useApplications, type RunningApp } from '../nest/applications.js';
import { eventually, Gate, useRealRedis } from '../support/set-up.js';
import { Deliveries, Stock } from './examples/recipes/batch.js';
import { TenantReports, Tenants } from './examples/recipes/cron-per-tenant.js';
import { ReportRequests, Reports, ReportWorker } from './examples/recipes/hand-over.js';

const redis = useRealRedis();
const opened: RunningApp[] = [];
// Marks of slots and the keys of BullMQ are still there when their application has gone.
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(opened.splice(0).map(({ nest }) => nest.close()));
  await redis.admin.flushall();
});
const apps = useApplications(redis);

const start = async (providers: Provider[], queue?: string) => {
  const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
  const imports =
    queue === undefined
      ? []
      : [BullModule.forRoot({ connection }), BullModule.registerQueue({ name: queue })];
  const app = await apps.start({ providers, imports });
  app.nest.useLogger(false);
  opened.push(app);
  return app;
};
const queueOf = (app: RunningApp, name: string) => app.nest.get<Queue>(getQueueToken(name));

describe('a lock that another process acquires', () => {
  it('is held while the worker runs, and a second request adds no second job', async () => {
    const gate = new Gate();
    const write = jest.fn(() => gate.opened);
    const app = await start(
      [ReportRequests, ReportWorker, { provide: Reports, useValue: { write } }],
      'reports',
    );
    const requests = app.nest.get(ReportRequests);
    const jobs = () => queueOf(app, 'reports').getJobCountByTypes();
    await requests.request('2026-11');
    await eventually(() => write.mock.calls.length === 1);
    const isHeld = await redis.admin.exists('report_2026-11');
    await requests.request('2026-11');
    const count = await jobs();
    gate.open();
    expect([isHeld, count]).toEqual([1, 1]);
    await eventually(async () => (await jobs()) === 0);
    await requests.request('2026-11');
    await eventually(() => write.mock.calls.length === 2);
  });
});

describe('a cron per tenant', () => {
  it('runs once for each tenant among all instances, also beside one that fails', async () => {
    // The hour must not end meanwhile.
    const now = Date.now.bind(Date);
    const ahead = Date.UTC(2030, 0, 1, 3, 0, 10) - now();
    jest.spyOn(Date, 'now').mockImplementation(() => now() + ahead);
    const report = jest.fn(async (id: string) => {
      if (id === 'b') throw new Error('no data');
    });
    const tenants = { provide: Tenants, useValue: { ids: async () => ['a', 'b', 'c'], report } };
    const all = [await start([TenantReports, tenants]), await start([TenantReports, tenants])];
    const runAll = () => Promise.all(all.map(({ nest }) => nest.get(TenantReports).all()));
    await runAll();
    await runAll();
    expect(report.mock.calls.flat().sort()).toEqual(['a', 'b', 'c']);
  });
});

describe('a batch from BullMQ', () => {
  it('excludes every batch with one of its products, in any order', async () => {
    const inside = new Map<string, string>();
    let overlaps = 0;
    const done: string[] = [];
    const add = async (sku: string, job: string) => {
      if (inside.size > 0 && ![...inside.values()].includes(job)) overlaps += 1;
      inside.set(sku, job);
      for (let i = 0; i < 5; i += 1) await redis.admin.ping();
      inside.delete(sku);
      done.push(sku);
    };
    const provider = { provide: Stock, useValue: { add } };
    const [app] = [
      await start([Deliveries, provider], 'deliveries'),
      await start([Deliveries, provider], 'deliveries'),
    ];
    const batches = [...Array(10).keys()].map((i) => (i % 2 ? ['tea', 'rice'] : ['rice', 'tea']));
    await queueOf(app, 'deliveries').addBulk(
      batches.map((skus) => ({ name: 'delivery', data: { skus } })),
    );
    await eventually(() => done.length === 20);
    expect(overlaps).toBe(0);
  });

  it('that lost a lock stops before its next product, and the next attempt starts again', async () => {
    const added: string[] = [];
    const add = async (sku: string) => {
      added.push(sku);
      if (added.length > 1) return;
      await redis.admin.del('product_rice');
      await expect(CurrentLock.lease().renew()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    };
    const app = await start([Deliveries, { provide: Stock, useValue: { add } }], 'deliveries');
    const queue = queueOf(app, 'deliveries');
    const job = await queue.add('delivery', { skus: ['rice', 'tea'] }, { attempts: 2 });
    await eventually(async () => (await job.getState()) === 'completed');
    expect(added).toEqual(['rice', 'rice', 'tea']);
    expect((await queue.getJob(String(job.id)))?.failedReason).toMatch(/lost/);
  });
});
