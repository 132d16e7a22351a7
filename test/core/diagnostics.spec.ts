import { afterEach, describe, expect, it } from '@jest/globals';
import { tracingChannel } from 'node:diagnostics_channel';
import {
  LockKeyError,
  LockService,
  LockTimeoutError,
  SemaphoreService,
} from 'nestjs-redis-lock/core';
import { useLocks, useRedis } from '../support/set-up.js';

describe('the tracing channel of acquisitions', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) =>
    Object.assign(new LockService(context), { semaphores: new SemaphoreService(context) }),
  );
  const channel = tracingChannel<unknown, object>('nestjs-redis-lock:acquire');
  let stop: () => void = () => undefined;

  afterEach(() => stop());

  /** The messages of the channel, each as `start` or `end` and the message at that time. */
  function listen() {
    const heard: unknown[] = [];
    const subscribers = {
      start: (message: object) => heard.push(['start', { ...message }]),
      asyncEnd: (message: object) => heard.push(['end', { ...message }]),
    };
    channel.subscribe(subscribers as never);
    stop = () => channel.unsubscribe(subscribers as never);
    return heard;
  }

  const ms = expect.any(Number) as unknown;

  it('tells the start and the outcome of every call, with its label and its connection', async () => {
    const { locks } = open({ name: 'cache' });
    const heard = listen();
    const lease = await locks.acquire('a', { label: 'a lock' });
    expect(await locks.tryAcquire('a')).toBeNull();
    await lease.release();
    const of = { connection: 'cache', name: 'a', kind: 'lock' };
    expect(heard).toEqual([
      ['start', { ...of, label: 'a lock' }],
      ['end', { ...of, label: 'a lock', outcome: 'acquired', waitedMs: ms, result: lease }],
      ['start', { ...of, label: undefined }],
      ['end', { ...of, label: undefined, outcome: 'busy', waitedMs: ms, result: null }],
    ]);
  });

  it('tells busy, aborted and failed calls apart', async () => {
    const [ours, others] = [open(), open()];
    const lease = await others.locks.acquire('a');
    const heard = listen();
    const aborted = new Error('enough');
    const giveUp = new AbortController();
    await expect(ours.locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
    const waiting = ours.locks.acquire('a', { signal: giveUp.signal });
    giveUp.abort(aborted);
    await expect(waiting).rejects.toBe(aborted);
    await redis.admin.set('text', 'no lock');
    await expect(ours.locks.acquire('text')).rejects.toThrow('another kind of value');
    await redis.admin.del('text');
    await lease.release();
    const ends = heard.filter((entry) => (entry as [string])[0] === 'end');
    expect(ends).toMatchObject([
      ['end', { outcome: 'busy' }],
      ['end', { outcome: 'aborted' }],
      ['end', { outcome: 'failed' }],
    ]);
  });

  it('tells nothing of a call that could not be made', async () => {
    const { locks } = open();
    const heard = listen();
    await expect(locks.acquire('')).rejects.toThrow(LockKeyError);
    expect(heard).toEqual([]);
  });

  it('tells of permits of a counting semaphore', async () => {
    const semaphore = open().locks.semaphores.counting('s');
    await semaphore.trySetPermits(1);
    const heard = listen();
    expect(await semaphore.tryAcquire(1)).toBe(true);
    expect(await semaphore.tryAcquire(1)).toBe(false);
    await redis.admin.del('s');
    expect(heard).toMatchObject([
      ['start', { kind: 'counting-semaphore' }],
      ['end', { outcome: 'acquired' }],
      ['start', { kind: 'counting-semaphore' }],
      ['end', { outcome: 'busy' }],
    ]);
  });
});
