import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { LockConfigurationError, LockService, WithLock, type Lease } from 'nestjs-redis-lock';
import { collectLockMetrics } from 'nestjs-redis-lock/prometheus';
import { hostname } from 'node:os';
import { Registry, register as globalRegister } from 'prom-client';
import { publish, publishTroubles } from './events.js';
import { useRedis } from '../support/redis-server.js';
import { useApplications } from './applications.js';

const redis = useRedis();
const apps = useApplications(redis);

@Injectable()
class Shop {
  constructor(readonly locks: LockService) {}

  @WithLock('product_<0>')
  async buy(id: string, work: () => unknown = () => undefined): Promise<unknown> {
    return work();
  }
}

describe('collectLockMetrics', () => {
  let stop: () => void = () => undefined;

  afterEach(() => stop());

  const collect = () => {
    const register = new Registry();
    stop = collectLockMetrics(register);
    return register;
  };
  const start = async () => (await apps.start({ providers: [Shop] })).nest.get(Shop);

  /** The values of a metric, each with its labels as a text. */
  async function valuesOf(register: Registry, name: string): Promise<Record<string, number>> {
    const metric = await register.getSingleMetric(`redis_lock_${name}`)?.get();
    const entries = metric?.values.map(({ labels, value }) => [
      Object.values(labels).join(' '),
      value,
    ]) as [string, number][];
    return Object.fromEntries(entries);
  }

  it('counts calls by their outcome, and waits, holds and what is held under the template', async () => {
    const register = collect();
    const shop = await start();
    const leases: (Lease | null)[] = [];
    await shop.buy('7', async () => {
      expect(await valuesOf(register, 'held')).toEqual({ 'default lock product_<0>': 1 });
      expect(await valuesOf(register, 'waiting')).toEqual({ 'default lock product_<0>': 0 });
      await shop.buy('7');
      leases.push(await shop.locks.tryAcquire('product_8'));
      expect(await valuesOf(register, 'held')).toEqual({
        'default lock product_<0>': 1,
        'default lock (none)': 1,
      });
    });
    expect(await valuesOf(register, 'held')).toMatchObject({ 'default lock product_<0>': 0 });
    const busy = [
      shop.locks.tryAcquire('product_8'),
      shop.locks.acquire('product_8', { waitTimeMs: 400 }),
    ];
    const aborted = shop.locks.acquire('product_8', { signal: AbortSignal.timeout(9) });
    expect(await valuesOf(register, 'waiting')).toMatchObject({ 'default lock (none)': 3 });
    await Promise.allSettled([...busy, aborted]);
    await leases[0]?.release();
    await redis.admin.set('text', 'x');
    await expect(shop.locks.acquire('text')).rejects.toThrow('another kind');
    await redis.admin.del('text');
    expect(await valuesOf(register, 'waiting')).toMatchObject({ 'default lock (none)': 0 });
    expect(await valuesOf(register, 'acquisitions_total')).toEqual({
      'default lock product_<0> acquired': 2,
      'default lock (none) acquired': 1,
      'default lock (none) busy': 2,
      'default lock (none) aborted': 1,
      'default lock (none) failed': 1,
    });
    expect(await valuesOf(register, 'connection_up')).toEqual({ default: 1 });
    const text = await register.metrics();
    expect(text).toContain(
      'redis_lock_wait_seconds_count{connection="default",kind="lock",lock="product_<0>"} 2',
    );
    // Two acquisitions, of which one joined the hold of the other.
    expect(text).toContain(
      'redis_lock_hold_seconds_count{connection="default",kind="lock",lock="product_<0>"} 1',
    );
    expect(text).not.toMatch(/product_[78]|[0-9a-f]{8}-[0-9a-f]{4}-|"text"/);
  });

  it('names the process of the owners', async () => {
    const register = collect();
    const { locks } = await start();
    const { owner } = await locks.acquire('a');
    const here = `${hostname()} ${String(process.pid)}`;
    expect(await valuesOf(register, 'info')).toEqual({
      [`default ${owner.slice(0, 13)} ${here}`]: 1,
    });
  });

  it('counts what goes wrong', async () => {
    const register = collect();
    publishTroubles(undefined);
    const all = {
      lost_total: { 'cache fair a <b> gone': 1 },
      late_grants_total: { 'cache fair a <b>': 1 },
      release_failures_total: { 'cache fair a <b>': 1 },
      wake_up_failures_total: { 'cache fair (none)': 1 },
      forced_releases_total: { 'cache fair a <b>': 1 },
      renewals_total: { cache: 250 },
      renewal_failures_total: { cache: 3 },
      message_failures_total: { cache: 1 },
      connection_up: { cache: 0 },
    };
    for (const [name, values] of Object.entries(all)) {
      expect([name, await valuesOf(register, name)]).toEqual([name, values]);
    }
    publish({ type: 'connection-restored', connection: 'cache' });
    expect(await valuesOf(register, 'connection_up')).toEqual({ cache: 1 });
    expect(await register.metrics()).not.toContain('secret');
  });

  it('knows nothing of holds and calls that began before', async () => {
    const shop = await start();
    const lease = await shop.locks.acquire('a');
    // Another collector has listened before.
    const stopOthers = collectLockMetrics(new Registry());
    const waiting = shop.locks.acquire('a');
    const register = collect();
    await lease.release();
    await (await waiting).release();
    // The clock cannot tell: it began just before, or the machine stood still since.
    publish({
      ...{ type: 'released', connection: 'default', name: 'b', kind: 'lock', outcome: 'done' },
      heldMs: 0,
    });
    expect(await valuesOf(register, 'held')).toEqual({ 'default lock (none)': 0 });
    expect(await valuesOf(register, 'waiting')).toEqual({});
    stopOthers();
  });

  it('is refused twice for one registry, and begins anew once it was stopped', async () => {
    const register = collect();
    expect(() => collectLockMetrics(register)).toThrow(LockConfigurationError);
    const stopFormer = stop;
    stopFormer();
    expect(register.getMetricsAsArray()).toEqual([]);
    stop = collectLockMetrics(register);
    stopFormer();
    publish({ type: 'renewed', connection: 'default', leases: 1 });
    expect(await valuesOf(register, 'renewals_total')).toEqual({ default: 1 });
    stop();
    publish({ type: 'renewed', connection: 'default', leases: 1 });
  });

  it('takes the global registry unless another is given, and nothing else', () => {
    stop = collectLockMetrics();
    expect(globalRegister.getSingleMetric('redis_lock_held')).toBeDefined();
    for (const given of [null, {}, 'register'] as never[]) {
      expect(() => collectLockMetrics(given)).toThrow(LockConfigurationError);
    }
  });

  it('keeps its own errors from callers and from the process', async () => {
    const register = collect();
    const held = register.getSingleMetric('redis_lock_held') as unknown as { inc: () => void };
    const waits = register.getSingleMetric('redis_lock_wait_seconds') as unknown as {
      observe: () => void;
    };
    held.inc = waits.observe = () => {
      throw new Error('broken');
    };
    const thrown: unknown[] = [];
    const onThrown = (error: unknown) => thrown.push(error);
    process.on('uncaughtException', onThrown);
    const shop = await start();
    expect(await shop.buy('7', () => 'sold')).toBe('sold');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('uncaughtException', onThrown);
    expect(thrown).toEqual([]);
  });
});
