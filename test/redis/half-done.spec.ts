import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { PERMISSIONS } from '../../libs/redis-lock/src/cli/permissions.js';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { RedisConnection } from '../../libs/redis-lock/src/core/redis/connection.js';
import { FencingGuard } from '../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { ReadWriteLockService } from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually, useLocks, useRealRedis } from '../support/set-up.js';
import { COURSES, Stage, type Course } from './courses.js';

type Service = keyof typeof COURSES;
type State = Readonly<Record<string, unknown>>;
const SERVICES = Object.keys(COURSES) as Service[];
/** docs/security.md says what comes of it without these. */
const OF_CONNECTIONS = ['publish', 'pubsub|numsub'];
/** The permits count as expired then, so the next acquisition has them: `permits.scripts.spec.ts`. */
const RETURNED_LATER = 'semaphore.release without incrby';

/** Further steps of each service: its course leaves them out. */
const MORE: Partial<Record<Service, Course>> = {
  async LockService({ ours }) {
    const locks = new LockService(ours);
    await locks.using('kept', () => undefined, { minHoldMs: 50 });
    await locks.multi(['b', 'c']).using(() => undefined);
    const [one, other] = [await locks.acquire('d'), locks.acquire('d', { leaseTimeMs: 5_000 })];
    await one.release();
    await (await other).release();
  },
  async ReadWriteLockService({ ours, theirs }) {
    const [lock, same] = [ours, theirs].map((context) =>
      new ReadWriteLockService(context).get('b'),
    );
    const [one, other] = await Promise.all([
      lock?.read.acquire(),
      same?.read.acquire({ leaseTimeMs: 9_000 }),
    ]);
    await lock?.read.using(() => lock.read.using(() => undefined));
    await one?.release();
    await other?.release();
  },
  async SemaphoreService({ ours }) {
    const semaphores = new SemaphoreService(ours);
    const semaphore = semaphores.get('b', { capacity: 3 });
    const [one, other] = [await semaphore.acquire(), await semaphore.acquire()];
    await semaphore.updateLeaseTime(one.permitIds[0] ?? '', 60_000);
    await semaphore.tryRelease(one.permitIds);
    await other.release();
    const counting = semaphores.counting('c', { capacity: 3 });
    await counting.acquire();
    await counting.releaseIfExists();
    await counting.addPermits(-1);
  },
  async FencingGuard({ ours }) {
    await new FencingGuard(ours).write(1_900_000_000_000_000, 'app:a', 'set', 'sold', 'nx');
  },
};

/** A script of a course, and the state that it found. */
interface Step {
  readonly script: string;
  readonly lua: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  readonly owner: string | number | undefined;
  readonly found: readonly Kept[];
}

interface Kept {
  readonly key: string;
  readonly ttlMs: number;
  readonly dump: Buffer;
}

describe('a script without one of its commands', () => {
  const redis = useRealRedis();
  /** The steps are tried here, so that no waiter hears of them. */
  const other = useRealRedis();
  const open = useLocks(redis, (context: LockContext) => context);
  let limited: Redis;
  beforeAll(async () => {
    await other.admin.acl('SETUSER', 'limited', 'on', '>x', '~*', '&*', '+@all');
    limited = new Redis(other.url.replace('//', '//limited:x@'));
  });
  afterAll(() => {
    limited.disconnect();
  });

  /** Notes every script of a connection. One runs at a time, so that the state before it is known. */
  const stepsOf = (connections: readonly RedisConnection[]): Step[] => {
    const steps: Step[] = [];
    let last: Promise<unknown> = Promise.resolve();
    for (const connection of connections) {
      const run = connection.run.bind(connection);
      connection.run = (script, keys, args, minReplicas) => {
        const running = last.then(async () => {
          const { name, lua } = script;
          const owner = args[(script.args as readonly string[]).indexOf('owner')];
          steps.push({ script: name, lua, keys, args, owner, found: await found() });
          const reply = run(script, keys, args, minReplicas);
          connection.flush?.();
          return reply;
        });
        last = running.catch(() => undefined);
        return running;
      };
    }
    return steps;
  };

  const found = async (): Promise<Kept[]> => {
    const keys = (await redis.admin.keys('*')).sort();
    const all = keys.map(async (key): Promise<Omit<Kept, 'dump'> & { dump: Buffer | null }> => {
      const [ttlMs, dump] = await Promise.all([redis.admin.pttl(key), redis.admin.dumpBuffer(key)]);
      return { key, ttlMs: Math.max(0, ttlMs), dump };
    });
    return (await Promise.all(all)).filter((one): one is Kept => one.dump !== null);
  };

  const put = async (state: readonly Kept[]) => {
    await other.admin.flushall();
    for (const { key, ttlMs, dump } of state) await other.admin.restore(key, ttlMs, dump);
  };

  /**
   * The holds in Redis, with type, and whether each expires. Entries of waiters and tokens are no part
   * of it: they expire, or the next attempt corrects them. A reader has several leases, or the longest.
   */
  const heldOf = async (names: readonly string[]): Promise<State> => {
    const seen: Record<string, unknown> = {};
    const keys = await other.admin.keys('*');
    const isOurs = (key: string) =>
      names.some((name) => key === name || (name.endsWith(':') && key.startsWith(name)));
    for (const key of keys.filter((one) => /^\{?app:/.test(one) && isOurs(one)).sort()) {
      const type = await other.admin.type(key);
      const value = await VALUES[type]?.(other.admin, key);
      const expires = (await other.admin.pttl(key)) > 0;
      seen[key.replace(/(:rwlock_timeout):\d+$/, '$1')] = { type, value, expires };
    }
    return seen;
  };

  it.each(SERVICES)('of %s does all of its step, or nothing', async (service) => {
    const settings = { keyPrefix: 'app:', watchdogLeaseMs: 20_000 };
    const [ours, theirs] = [open(settings), open(settings)];
    await eventually(() => ours.connection.isUp && theirs.connection.isUp);
    const steps = stepsOf([ours.connection, theirs.connection]);
    const stage = new Stage(ours.locks, theirs.locks, 'a', redis.admin);
    await COURSES[service](stage);
    await stage.release();
    await MORE[service]?.(stage);

    const commands = PERMISSIONS[service].commands.filter((one) => !OF_CONNECTIONS.includes(one));
    const tried = new Set<string>();
    const halfDone: unknown[] = [];
    for (const { script, lua, keys, args, owner, found } of steps) {
      const shape = JSON.stringify([script, found.map(({ key }) => key), args.length]);
      if (tried.has(shape)) continue;
      tried.add(shape);
      const send = (by: Redis) => by.eval(lua, keys.length, ...keys, ...args);
      await put(found);
      const before = await heldOf(keys);
      for (const command of commands) {
        if (!lua.includes(`'${command}'`)) continue;
        const trial = `${script} without ${command}`;
        await put(found);
        await other.admin.acl('SETUSER', 'limited', `-${command}`);
        const error: unknown = await send(limited).then(
          () => undefined,
          (e: unknown) => e,
        );
        await other.admin.acl('SETUSER', 'limited', '+@all');
        const after = await heldOf(keys);
        const isRefused = error !== undefined && same(after, before);
        // A release frees the lock where it cannot hand it over, or keeps no order.
        const isFreed = /release|pass/.test(script) && owner !== undefined && !has(after, owner);
        // Entries of waiters age: what the whole step does is looked at in the same moment.
        await put(found);
        await send(other.admin);
        const done = await heldOf(keys);
        const isDone = error === undefined && (same(after, done) || isFreed);
        if (isRefused || isDone || trial === RETURNED_LATER) continue;
        if (same(before, {}) && /acquire/.test(script) && isWhole(after, error)) continue;
        halfDone.push({ trial, error: String(error), before, after, done });
      }
    }
    expect(halfDone).toEqual([]);
    expect(tried.size).toBeGreaterThan(0);
  });
});

const VALUES: Readonly<
  Record<string, ((redis: Redis, key: string) => Promise<unknown>) | undefined>
> = {
  string: (redis, key) => redis.get(key),
  hash: (redis, key) => redis.hgetall(key),
  zset: (redis, key) => redis.zrange(key, 0, '-1', 'WITHSCORES'),
};

/** Ends of leases follow the clock. */
function same(one: State, other: State): boolean {
  const [left, right] = [one, other].map((state) =>
    JSON.stringify(state).replaceAll(/\d{13,}/g, '<time>'),
  );
  return left === right;
}

function has(state: State, owner: string | number): boolean {
  return new RegExp(`"${String(owner)}(:write)?"`).test(JSON.stringify(state));
}

/**
 * An acquisition that began with no key leaves a hold that expires, although it could not read whose
 * turn it is. With a refusal it leaves the number of permits, all of them free.
 */
function isWhole(state: State, refusal: unknown): boolean {
  const all = Object.values(state) as { type: string; expires: boolean }[];
  return refusal === undefined
    ? all.every(({ expires }) => expires)
    : all.every(({ type }) => type === 'string');
}
