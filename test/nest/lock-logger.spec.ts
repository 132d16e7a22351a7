import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger, Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  getLockServiceToken,
  LeaseLostError,
  LockMonitor,
  LockTimeoutError,
  RedisLockModule,
  type LockEvent,
  type LockObserver,
} from 'nestjs-redis-lock';
import { hostname } from 'node:os';
import { LockLogger } from '../../libs/redis-lock/src/nest/lock-logger.js';
import { eventually, redisson, useRedis } from '../support/set-up.js';
import { SILENT, useApplications } from './applications.js';

const redis = useRedis();
const apps = useApplications(redis);

const error = new Error('no answer');
const LOCK = { name: 'x', kind: 'lock' } as const;
/** No line has an owner. */
const SECRET = { owner: 'f00d:1', holdCount: 1 };
const UNRENEWED = new LeaseLostError('x', 'expired', {
  confirmedAgoMs: 30_000,
  renewalFailedAt: new Date('2026-05-04T03:02:01.000Z'),
  renewalFailedWith: 'no answer',
});

/** Every event, with the level and the words that a person needs. */
const EVENTS: [LockEvent, string, string][] = [
  [
    { type: 'opened', clients: ['d60b2ca2-d0a6'], host: 'shop-7', pid: 17 },
    'log',
    'Owner ids of this process (shop-7, pid 17) begin with d60b2ca2-d0a6',
  ],
  [
    { type: 'opened', clients: ['d60b2ca2-d0a6', 'f3627c0f-f376'], host: 'shop-7', pid: 17 },
    'log',
    'begin with d60b2ca2-d0a6 or f3627c0f-f376',
  ],
  [
    { type: 'lost', ...LOCK, reason: 'gone', heldMs: 1, error: new LeaseLostError('x', 'gone') },
    'error',
    'Lock "x" lost: Redis no longer stores this holder: it expired, was deleted or was force-released; ' +
      'another owner may hold it now',
  ],
  [
    { type: 'lost', ...LOCK, reason: 'expired', heldMs: 1, error: UNRENEWED },
    'error',
    'ms ago); another owner may hold it now; a renewal failed at 2026-05-04T03:02:01.000Z: no answer',
  ],
  [{ type: 'suspect', ...LOCK, error }, 'warn', 'Lock "x" may soon be lost: no answer'],
  [{ type: 'waiting', ...LOCK, waitedMs: 1_000, error }, 'warn', 'after 1000 ms: no answer'],
  [
    { type: 'waiting', name: 'x', kind: 'semaphore', waitedMs: 1_000, blockedBy: 'unset' },
    'warn',
    'after 1000 ms: its permits are not set: give capacity or call trySetPermits',
  ],
  [{ type: 'connection-failed', error }, 'warn', 'Redis is not available for locks'],
  [
    { type: 'connection-failed', error: Object.assign(new AggregateError([]), { code: 'EX' }) },
    'warn',
    'trying again: EX',
  ],
  [{ type: 'connection-restored' }, 'log', 'Redis is available for locks again'],
  [{ type: 'renewal-failed', leases: 2, error }, 'warn', 'Could not renew 2 leases: no answer'],
  [
    { type: 'release-failed', ...LOCK, leased: true, error },
    'warn',
    'Lock "x" could not be released; it expires with its lease: no answer',
  ],
  [
    { type: 'release-failed', ...LOCK, leased: false, error },
    'warn',
    'Lock "x" may have missed a release or count-down; if so, repeat it by hand: no',
  ],
  [{ type: 'wake-up-failed', ...LOCK }, 'warn', 'waiters were not notified'],
  [{ type: 'messages-failed', error: 'odd' }, 'warn', 'so waiters poll: odd'],
  [{ type: 'recovered', ...LOCK }, 'log', 'safe again: Redis confirmed the lease'],
  [
    { type: 'force-released', ...LOCK, holders: [SECRET], remainingMs: 1_234 },
    'warn',
    'Lock "x" was taken away from its holder by forceRelease(), with 1234 ms left',
  ],
  [
    {
      ...{ type: 'force-released', ...LOCK, remainingMs: 1_234 },
      holders: [{ ...SECRET, process: { host: 'shop-7', pid: 17 } }],
    },
    'warn',
    'Lock "x" was taken away from its holder (shop-7, pid 17) by forceRelease(), with 1234 ms left',
  ],
  [
    {
      ...{ type: 'force-released', ...LOCK, holders: [SECRET, SECRET] },
      ...{ remainingMs: Infinity, reason: 'a "stuck" job' },
    },
    'warn',
    'its 2 holders by forceRelease(), with no expiry: "a \\"stuck\\" job"',
  ],
];

/** The events of ordinary calls, which are logged by `logAcquisitions` alone. */
const ORDINARY: [LockEvent, string][] = [
  [{ type: 'acquired', ...LOCK, waitedMs: 1, holdCount: 2 }, 'hold count 2'],
  [
    { type: 'waiting', ...LOCK, waitedMs: 1_000.4 },
    'Lock "x": a caller still waits after 1000 ms: another owner holds it',
  ],
  [
    { type: 'waiting', name: 'x', kind: 'latch', waitedMs: 1_000 },
    'after 1000 ms: the latch is closed',
  ],
  [{ type: 'timed-out', ...LOCK, waitedMs: 5 }, 'not acquired after 5 ms'],
  [{ type: 'released', ...LOCK, outcome: 'done', heldMs: 1 }, 'Lock "x" released'],
  [
    { type: 'released', ...LOCK, outcome: 'unknown', heldMs: 1 },
    'released; Redis did not confirm it',
  ],
  [{ type: 'late-grant', ...LOCK }, 'it is released again'],
  [{ type: 'renewed', leases: 1 }, 'Renewed 1 lease'],
];

describe('LockLogger', () => {
  const lines: [string, string, string | undefined][] = [];
  const line = (level: string) => (message: unknown, context?: string) => {
    lines.push([level, String(message), context]);
  };
  // Nest puts the stack, which is undefined here, between the message and the context of an error.
  const errorLine = (message: unknown, _stack: unknown, context?: string) => {
    lines.push(['error', String(message), context]);
  };
  const logger: LoggerService = {
    log: line('log'),
    warn: line('warn'),
    debug: line('debug'),
    error: errorLine,
  };
  beforeEach(() => {
    lines.length = 0;
    Logger.overrideLogger(logger);
  });
  afterEach(() => {
    Logger.overrideLogger(false);
  });

  it.each(EVENTS)('logs %p', (event, level, text) => {
    new LockLogger().observe(event);
    expect(lines).toEqual([[level, expect.stringContaining(text), 'RedisLock']]);
    expect(lines[0]?.[1]).not.toContain(SECRET.owner);
  });

  it.each(ORDINARY)('logs on demand %p', (event, text) => {
    new LockLogger(undefined, true).observe(event);
    expect(lines).toEqual([['log', expect.stringContaining(text), 'RedisLock']]);
  });

  it.each(ORDINARY)('makes no text without demand of %p', (event) => {
    const heard: LockEvent[] = [];
    const read: PropertyKey[] = [];
    const watched = new Proxy(event, {
      get(target, property): unknown {
        read.push(property);
        return Reflect.get(target, property);
      },
    });
    new LockLogger({ observe: (its) => heard.push(its) }).observe(watched);
    expect(lines).toEqual([]);
    // Its level depends on these.
    const level: PropertyKey[] = ['type', 'error', 'blockedBy'];
    expect(read.filter((property) => !level.includes(property))).toEqual([]);
    expect(heard).toEqual([event]);
  });

  it('tells the next observer too, also when the log is broken', () => {
    const heard: LockEvent[] = [];
    const next: LockObserver = { observe: (event) => heard.push(event) };
    const event: LockEvent = { type: 'recovered', ...LOCK };
    new LockLogger(next).observe(event);
    Logger.overrideLogger({
      ...logger,
      log: () => {
        throw new Error('disk full');
      },
    });
    expect(() => {
      new LockLogger(next).observe(event);
    }).toThrow('disk full');
    expect(heard).toEqual([event, event]);
  });

  it('says what a person must know, and never who the owner is', async () => {
    const heard: LockEvent[] = [];
    const observer: LockObserver = { observe: (event) => heard.push(event) };
    const app = await apps.start(
      {},
      { watchdogLeaseMs: 900, tuning: { pollIntervalMs: 50 }, logAcquisitions: true, observer },
    );
    Logger.overrideLogger(logger);
    const { locks } = app;
    const lost = await locks.acquire('lost');
    await redis.admin.del('lost');
    await eventually(() => lost.state === 'lost');
    await redisson.tryLock(redis.admin, 'slow');
    const abort = new AbortController();
    const slow = locks.acquire('slow', { signal: abort.signal }).catch(() => undefined);
    await eventually(() => heard.some(({ type }) => type === 'waiting'));
    abort.abort();
    await slow;
    const leases = await Promise.all(['a', 'b'].map((name) => locks.acquire(name)));
    redis.pause();
    await eventually(() => leases.every(({ state }) => state === 'lost'));
    redis.resume();
    await app.nest.close();

    const said = lines.filter(([, , context]) => context === 'RedisLock');
    const of = (level: string) => said.filter(([its]) => its === level).map(([, text]) => text);
    expect(of('error')).toContainEqual(
      expect.stringMatching(/^Lock "lost" lost: Redis no longer stores/),
    );
    expect(of('error')).toHaveLength(3);
    expect(of('log')).toContainEqual(expect.stringMatching(/^Lock "slow": a caller still waits/));
    expect(of('warn')).toContainEqual(expect.stringMatching(/^Lock "a" may soon be lost/));
    expect(of('log')).toContainEqual(expect.stringMatching(/^Lock "a" acquired/));
    // The one of the start came before this logger.
    expect(said.length).toBe(heard.length - 1);
    expect(JSON.stringify(said)).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
  });

  it('names the owners and the process of each connection, once', async () => {
    const { url: connection } = redis;
    @Module({
      imports: [
        RedisLockModule.forRoot({ connection }),
        RedisLockModule.forRoot({ connection, name: 'cache', keyPrefix: 'cache:' }),
      ],
    })
    class App {}
    const app = await apps.add(await NestFactory.create(App, { ...SILENT, logger }));
    const monitors = [undefined, 'cache'].map((name) =>
      app.nest.get<LockMonitor>(getLockServiceToken(LockMonitor, name)),
    );
    const said = monitors.flatMap((monitor) => monitor.status().clients);
    const at = `(${hostname()}, pid ${String(process.pid)})`;
    const text = (client: string) => `Owner ids of this process ${at} begin with ${client}`;
    const ours = lines.filter(([, , context]) => context === 'RedisLock');
    expect(ours.sort()).toEqual(said.map((client) => ['log', text(client), 'RedisLock']).sort());
    const { owner } = await app.locks.acquire('x');
    expect(owner.startsWith(`${String(said[0])}-`)).toBe(true);
  });

  it('is silent about calls that go well, and about busy ones, by default', async () => {
    const heard: LockEvent[] = [];
    const observer: LockObserver = { observe: (event) => heard.push(event) };
    const { locks } = await apps.start({}, { observer });
    Logger.overrideLogger(logger);
    await locks.using('mine', async () => {
      await locks.get('mine').isLocked();
    });
    await redisson.tryLock(redis.admin, 'busy');
    await expect(locks.acquire('busy', { waitTimeMs: 10 })).rejects.toThrow(LockTimeoutError);
    await eventually(() => heard.some(({ type }) => type === 'timed-out'));
    const types = ['opened', 'acquired', 'released', 'timed-out'];
    expect(heard.map(({ type }) => type)).toEqual(types);
    expect(lines).toEqual([]);
    await locks.get('busy').forceRelease();
    expect(lines).toEqual([['warn', expect.stringContaining('"busy"'), 'RedisLock']]);
  });
});
