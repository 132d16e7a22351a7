import { describe, expect, it } from '@jest/globals';
import {
  ACQUIRE_NESTED,
  RELEASE_SOME,
} from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type { HeldLease } from '../../libs/redis-lock/src/core/holding/held-lease.js';
import { runInScope } from '../../libs/redis-lock/src/core/holding/scope.js';
import {
  READ_ACQUIRE,
  READ_RELEASE,
  READ_CANCEL,
} from '../../libs/redis-lock/src/primitives/read-write-lock/read-lock.scripts.js';
import {
  WRITE_RELEASE,
  WRITE_PASS,
  WRITE_PASS_IN_ORDER,
  WRITE_CANCEL,
} from '../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import {
  WRITE_ACQUIRE_OR_QUEUE,
  WRITE_ACQUIRE,
} from '../../libs/redis-lock/src/primitives/read-write-lock/write-lock.scripts.js';
import { eventually, seededRandom, untilQueued, useProxy, watch } from '../support/set-up.js';
import { useRealRedis } from '../support/redis-server.js';
import { look, THREAD_1, timeoutKey } from './redisson-read-write.js';
import { useReadWriteLocks } from './sides.js';

const SCRIPTS = [
  ...[READ_ACQUIRE, READ_RELEASE, READ_CANCEL],
  ...[WRITE_ACQUIRE, WRITE_ACQUIRE.fenced, WRITE_ACQUIRE_OR_QUEUE, WRITE_ACQUIRE_OR_QUEUE.fenced],
  ...[ACQUIRE_NESTED, RELEASE_SOME],
  ...[WRITE_RELEASE, WRITE_PASS, WRITE_PASS_IN_ORDER, WRITE_CANCEL],
];

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('a read-write lock when an answer is lost', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const { open } = useReadWriteLocks(redis);

  /** A client whose scripts Redis knows. */
  const opened = async () => {
    const client = open({ connection: proxy.current.url });
    for (const { lua } of SCRIPTS) await redis.admin.script('LOAD', lua);
    await client.locks.get('a').read.isLocked();
    return client;
  };
  const readers = (lease: { owner: string }, count: number, seconds = 30) => ({
    a: [{ mode: 'read', [lease.owner]: String(count) }, seconds],
    ...Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        timeoutKey('a', lease.owner, i + 1),
        ['1', seconds],
      ]),
    ),
  });

  it.each([
    ['read', READ_RELEASE],
    ['write', WRITE_RELEASE],
  ] as const)('the last release of a %s hold counts as done', async (side, script) => {
    const client = await opened();
    const lease = await client.locks.get('a')[side].acquire();
    const fault = proxy.current.loseAnswerTo(script);
    await lease.release();
    expect(fault.hits).toBe(1);
    expect(client.eventsOf('released').at(-1)).toMatchObject({ outcome: 'unknown' });
    expect(client.eventsOf('lost')).toEqual([]);
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it.each([
    ['starts', {}],
    ['enters by itself', { fenced: true }],
  ])('a write is passed on once within its process, to one that %s', async (_, options) => {
    const client = await opened();
    const { write } = client.locks.get('a');
    const first = await write.acquire();
    const waiting = write.acquire(options);
    const behind = watch(write.acquire());
    // On a slow machine the batch may be over.
    const passes = [WRITE_PASS, WRITE_PASS_IN_ORDER];
    const faults = passes.map((script) => proxy.current.loseAnswerTo(script));
    await first.release();
    const second = await waiting;
    expect(faults.reduce((sum, { hits }) => sum + hits, 0)).toBe(1);
    expect(behind.state).toBe('pending');
    expect(client.eventsOf('lost')).toEqual([]);
    expect(await redis.admin.hgetall('a')).toEqual({
      mode: 'write',
      [`${second.owner}:write`]: '1',
    });
    await second.release();
    await (await behind.promise).release();
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it.each([
    ['starts', {}],
    ['enters by itself', { fenced: true }],
  ])(
    'a claim that is sent again has one place in the queue: of one that %s',
    async (_, options) => {
      const [client, holder] = [await opened(), await open().locks.get('a').write.acquire()];
      const fault = proxy.current.loseAnswerTo(
        'fenced' in options ? WRITE_ACQUIRE_OR_QUEUE.fenced : WRITE_ACQUIRE_OR_QUEUE,
      );
      const waiting = client.locks.get('a').write.acquire({ ...options, waitTimeMs: 60_000 });
      await eventually(() => fault.hits === 1);
      await untilQueued(redis, 'a', [client], 'rwlock');
      await holder.release();
      const lease = await waiting;
      expect(await redis.admin.hgetall('a')).toEqual({
        mode: 'write',
        [`${lease.owner}:write`]: '1',
      });
      await lease.release();
      expect(await redis.admin.keys('nestjs_rwlock_[qcwrt]*')).toEqual([]);
    },
  );

  it('a write whose lease ends meanwhile lets others read, however long the writer itself reads', async () => {
    const { read, write } = (await opened()).locks.get('a');
    const writing = await write.acquire({ leaseTimeMs: 300 });
    const reading = await runInScope(writing as HeldLease, () => read.acquire());
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => writing.state === 'lost');
    await proxy.current.accept();
    const other = await open().locks.get('a').read.acquire();
    expect(reading.state).toBe('held');
    await Promise.all([other.release(), reading.release()]);
  });

  it('a downgrade happens once, and the read goes on', async () => {
    const { read, write } = (await opened()).locks.get('a');
    const writing = await write.acquire();
    await redis.admin.hset('a', THREAD_1, 1);
    await redis.admin.set(timeoutKey('a', THREAD_1, 1), 1, 'PX', 30_000);
    const fault = proxy.current.loseAnswerTo(WRITE_RELEASE);
    await writing.release();
    expect(fault.hits).toBe(1);
    expect(await redis.admin.hgetall('a')).toEqual({ mode: 'read', [THREAD_1]: '1' });
    const entering = proxy.current.loseAnswerTo(READ_ACQUIRE);
    await (await read.acquire()).release();
    expect(entering.hits).toBe(1);
    expect(await redis.admin.hgetall('a')).toEqual({ mode: 'read', [THREAD_1]: '1' });
  });

  it.each([
    ['read', READ_CANCEL],
    ['write', WRITE_CANCEL],
  ] as const)('who gives up waiting to %s leaves nothing', async (side, script) => {
    const client = await opened();
    const holder = await open().locks.get('a').write.acquire();
    const fault = proxy.current.loseAnswerTo(script);
    const waiting = watch(client.locks.get('a')[side].acquire({ waitTimeMs: 300 }));
    await expect(waiting.promise).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await eventually(() => fault.hits === 1);
    await eventually(async () => (await redis.admin.keys('nestjs_*')).length === 0);
    await holder.release();
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('counts right and leaves nothing, wherever a stream of reads in writes is cut', async () => {
    const random = seededRandom('cuts/read-write');
    const { read, write } = (await opened()).locks.get('a');
    for (let round = 0; round < 20; round += 1) {
      const newest = proxy.current.counts.accepted;
      const direction = random.pick(['toServer', 'toClient'] as const);
      const fault = proxy.current.cutAfter(direction, random.int(1, 2_000), {
        kind: random.pick(['rst', 'fin'] as const),
        where: ({ index }) => index === newest,
      });
      const reading = await write.using(() =>
        read.using(async ({ owner }) => {
          const lease = await read.acquire();
          expect(lease.owner).toBe(owner);
          expect(await redis.admin.hget('a', owner)).toBe('2');
          return lease;
        }),
      );
      expect(await look(redis.admin)).toEqual(readers(reading, 1));
      await reading.release();
      expect(await redis.admin.keys('*')).toEqual([]);
      fault.heal();
    }
    expect(proxy.current.counts.cut).toBeGreaterThan(5);
  });
});
