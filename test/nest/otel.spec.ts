import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { context, SpanStatusCode, trace, type Span } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { LockConfigurationError, LockService, WithLock, type Lease } from 'nestjs-redis-lock';
import { instrumentLocks, type LockInstrumentationOptions } from 'nestjs-redis-lock/otel';
import { hostname } from 'node:os';
import { inspect } from 'node:util';
import { useApplications } from './applications.js';
import { useRealRedis } from '../support/redis-server.js';
import { publishTroubles } from './events.js';

const redis = useRealRedis();
const apps = useApplications(redis);

@Injectable()
class Shop {
  constructor(readonly locks: LockService) {}

  @WithLock('product_<0>', { waitTimeMs: 0 })
  async buy(id: string, work: () => unknown = () => undefined): Promise<unknown> {
    return work();
  }
}

const LABELS = { 'lock.connection': 'default', 'lock.type': 'lock', 'lock.name': 'product_<0>' };

describe('instrumentLocks', () => {
  const contexts = new AsyncLocalStorageContextManager();
  let stop: () => void = () => undefined;

  beforeAll(() => {
    context.setGlobalContextManager(contexts.enable());
  });
  afterEach(() => stop());
  afterAll(() => context.disable());

  function instrument(options: LockInstrumentationOptions = {}) {
    const spans = new InMemorySpanExporter();
    const spanProcessors = [new SimpleSpanProcessor(spans)];
    const tracerProvider = new BasicTracerProvider({ spanProcessors });
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e6 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    stop = instrumentLocks({ tracerProvider, meterProvider, ...options });
    const tracer = tracerProvider.getTracer('test');
    return {
      spans,
      /** Runs in a span of its own. */
      inSpan: async (work: (span: Span) => Promise<unknown>) => {
        const span = tracer.startSpan('request');
        await context.with(trace.setSpan(context.active(), span), () => work(span));
        span.end();
      },
      /** Every measurement, as name, attributes and value. */
      measured: async () => {
        await meterProvider.forceFlush();
        const [metrics] = exporter.getMetrics().slice(-1);
        const all = metrics?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
        return all.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => ({ name: descriptor.name, attributes, value })),
        );
      },
      shutdown: () => Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]),
    };
  }
  const start = async () => (await apps.start({ providers: [Shop] })).nest.get(Shop);

  it('makes a span of every call, under that of its caller, with the outcome', async () => {
    const { spans, inSpan, shutdown } = instrument();
    const shop = await start();
    let parent: string | undefined;
    let lease: Lease | null = null;
    await inSpan(async (span) => {
      parent = span.spanContext().spanId;
      await shop.buy('7', async () => {
        lease = await shop.locks.tryAcquire('product_8');
        await Promise.allSettled([shop.locks.acquire('product_8', { waitTimeMs: 400 })]);
        await Promise.allSettled([
          shop.locks.acquire('product_8', { signal: AbortSignal.timeout(5) }),
        ]);
      });
      expect(await shop.locks.tryAcquire('product_8')).toBeNull();
      await lease?.release();
    });
    const seen = spans.getFinishedSpans().slice(0, -1);
    expect(new Set(seen.map((span) => span.parentSpanContext?.spanId))).toEqual(new Set([parent]));
    expect(seen.map(({ name, attributes, status }) => [name, attributes.outcome, status])).toEqual([
      ['lock.acquire product_<0>', 'acquired', { code: SpanStatusCode.UNSET }],
      ['lock.acquire (none)', 'acquired', { code: SpanStatusCode.UNSET }],
      ['lock.acquire (none)', 'busy', { code: SpanStatusCode.ERROR, message: 'LOCK_TIMEOUT' }],
      ['lock.acquire (none)', 'aborted', { code: SpanStatusCode.UNSET }],
      ['lock.acquire (none)', 'busy', { code: SpanStatusCode.UNSET }],
    ]);
    expect(seen[0]?.attributes).toEqual({ ...LABELS, outcome: 'acquired' });
    expect(seen[2]?.attributes).toMatchObject({ 'error.type': 'LOCK_TIMEOUT' });
    await shutdown();
  });

  it('measures waits, holds and what is held under the template', async () => {
    const { measured, shutdown } = instrument();
    const shop = await start();
    await shop.buy('7', async () => {
      const held = { name: 'redis_lock.held', attributes: LABELS, value: 1 };
      expect(await measured()).toContainEqual(held);
      await shop.buy('7');
    });
    const all = await measured();
    const one = (name: string) => all.filter((metric) => metric.name === `redis_lock.${name}`);
    expect(one('held')).toMatchObject([{ attributes: LABELS, value: 0 }]);
    expect(one('waiting')).toMatchObject([{ attributes: LABELS, value: 0 }]);
    const acquired = { ...LABELS, outcome: 'acquired' };
    expect(one('acquire.duration')).toMatchObject([{ attributes: acquired, value: { count: 2 } }]);
    expect(one('hold.duration')).toMatchObject([{ attributes: LABELS, value: { count: 1 } }]);
    await shutdown();
  });

  it('names the process of the owners', async () => {
    const { measured, shutdown } = instrument();
    const { locks } = await start();
    const { owner } = await locks.acquire('a');
    const info = (await measured()).filter(({ name }) => name === 'redis_lock.info');
    expect(info).toMatchObject([
      {
        value: 1,
        attributes: {
          ...{ 'lock.connection': 'default', 'lock.client': owner.slice(0, 13) },
          ...{ 'host.name': hostname(), 'process.pid': String(process.pid) },
        },
      },
    ]);
    await shutdown();
  });

  it('counts what goes wrong', async () => {
    const { measured, shutdown } = instrument();
    publishTroubles('a <b>');
    const all = await measured();
    const counted = all.filter(({ value }) => typeof value === 'number');
    expect(counted.map(({ name, value }) => [name.replace('redis_lock.', ''), value])).toEqual([
      ['lost', 1],
      ['late_grants', 1],
      ['release.failures', 1],
      ['wake_up.failures', 1],
      ['forced_releases', 1],
      ['renewals', 250],
      ['renewal.failures', 3],
      ['message.failures', 1],
      ['connection.failures', 1],
    ]);
    const attributes = { 'lock.connection': 'cache', 'lock.type': 'fair', 'lock.name': 'a <b>' };
    expect(counted[0]?.attributes).toEqual({ ...attributes, reason: 'gone' });
    expect(counted[5]?.attributes).toEqual({ 'lock.connection': 'cache' });
    expect(inspect(all, { depth: 9 })).not.toContain('secret');
    await shutdown();
  });

  it.each([false, true])(
    'exports no secret, and names only if told to: %p',
    async (recordNames) => {
      const { spans, measured, shutdown } = instrument({ recordNames });
      const connection = redis.url.replace('//', '//default:pass-word@');
      await redis.admin.config('SET', 'requirepass', 'pass-word');
      const app = await apps.start({ providers: [Shop] }, { connection, watchdogLeaseMs: 1_800 });
      const shop = app.nest.get(Shop);
      const owners = await shop.buy('visitor-7', async () => {
        await (await shop.locks.acquire('visitor-8', { fenced: true })).release();
        return redis.admin.hkeys('product_visitor-7');
      });
      const [uuid = 'none'] = String(owners).split(':');
      expect(uuid).toHaveLength(36);
      await redis.admin.set('product_visitor-7', 'no lock');
      await Promise.allSettled([shop.buy('visitor-7')]);
      await app.nest.close();
      await redis.admin.config('SET', 'requirepass', '');
      const token = await redis.admin.get('redisson_lock_token:{visitor-8}');
      expect(Number(token)).toBeGreaterThan(1e15);
      await redis.admin.flushall();
      const finished = spans.getFinishedSpans();
      const failed = { status: { code: SpanStatusCode.ERROR, message: 'LOCK_STATE' } };
      expect(finished.at(-1)).toMatchObject(failed);
      const measurements = inspect(await measured(), { depth: 99, showHidden: true });
      const everything = inspect(finished, { depth: 99, maxArrayLength: null }) + measurements;
      for (const secret of [uuid, 'pass-word', token]) expect(everything).not.toContain(secret);
      expect(measurements).not.toContain('visitor');
      expect(everything.includes('visitor')).toBe(recordNames);
      const keys = finished.map(({ attributes }) => attributes['lock.key']);
      const names = ['product_visitor-7', 'visitor-8', 'product_visitor-7'];
      expect(keys).toEqual(recordNames ? names : names.map(() => undefined));
      await shutdown();
    },
  );

  it('hears nothing any more once it was stopped, and works with the global providers', async () => {
    const { spans, measured, shutdown } = instrument();
    stop();
    stop = instrumentLocks();
    const shop = await start();
    await shop.buy('7');
    expect(spans.getFinishedSpans()).toEqual([]);
    expect(await measured()).toEqual([]);
    await shutdown();
  });

  it.each<[object, string]>([
    [{ recordName: true }, 'unknown option "recordName"'],
    [{ recordNames: 'yes' }, 'recordNames must be of the type boolean, not "yes"'],
    [{ meterProvider: 5 }, 'meterProvider must be of the type object, not 5'],
    [{ tracerProvider: null }, 'tracerProvider must be of the type object, not null'],
    [null as never, 'the options must be a plain object, not null'],
    [5 as never, 'the options must be a plain object, not 5'],
  ])('refuses %p', (options, message) => {
    expect(() => instrumentLocks(options)).toThrow(LockConfigurationError);
    expect(() => instrumentLocks(options)).toThrow(message);
  });
});
