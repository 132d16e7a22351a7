import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import {
  FairLockService,
  LockService,
  ReadWriteLockService,
  SemaphoreService,
  type AcquireOptions,
  type Lease,
  type LockEvent,
} from 'nestjs-redis-lock/core';

import { LockReplicationError } from '../../libs/redis-lock/src/core/api/errors.js';
import { ANSWER_MS } from '../../libs/redis-lock/src/core/redis/connection.js';
import { ACQUIRE } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { Application } from '../faults/support/application.js';
import { useApplications } from '../faults/support/applications.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { IOREDIS_VERSIONS } from '../support/ioredis-versions.js';
import { hasReplicas, ReplicaGroup, type Node } from '../support/topology.js';

const NAME = 'product_1';
const REPLICAS = 2;
const OTHER_NAME = 'product_2';

/** One owner at a time holds this, by whatever primitive. */
interface Holdable {
  acquire(options?: AcquireOptions): Promise<Lease>;
  tryAcquire(options?: AcquireOptions): Promise<Lease | null>;
}

/** Each primitive: its keys, which are there only while it is held, and how to get it. */
const OTHERS: [string, string[], (context: LockContext) => Holdable | Promise<Holdable>][] = [
  ['fair lock', [NAME], (context) => new FairLockService(context).get(NAME)],
  ['read lock', [NAME], (context) => new ReadWriteLockService(context).get(NAME).read],
  ['write lock', [NAME], (context) => new ReadWriteLockService(context).get(NAME).write],
  ['semaphore', [`{${NAME}}:timeout`], theOnlyPermit],
  [
    'multi lock',
    [NAME, OTHER_NAME],
    (context) => {
      const other = new FairLockService(context).get(OTHER_NAME);
      return new LockService(context).multi([NAME, other]);
    },
  ],
];

async function theOnlyPermit(context: LockContext): Promise<Holdable> {
  const semaphore = new SemaphoreService(context).get(NAME);
  await semaphore.trySetPermits(1);
  return semaphore;
}

describe('minReplicas', () => {
  const open = useApplications();
  const clients: Redis[] = [];
  let group: ReplicaGroup;
  let master: Node;

  beforeAll(async () => {
    group = await ReplicaGroup.start(REPLICAS);
    master = group.master;
  });
  afterAll(() => group.stop());
  afterEach(async () => {
    for (const { server } of group.replicas) server.resume();
    for (const client of clients.splice(0)) client.disconnect();
    await master.admin.flushall();
  });

  const own = <Client extends Redis>(client: Client): Client => {
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const opened = async (...options: Parameters<typeof open>): Promise<Application> => {
    const application = open(...options);
    await eventually(() => application.locks.get('warm').remainingTimeMs());
    return application;
  };
  const isOnReplicas = (db = 0) =>
    Promise.all(
      group.replicas.map(async ({ admin }) => {
        await admin.select(db);
        return admin.exists(NAME);
      }),
    );
  const pauseReplicas = () => {
    for (const { server } of group.replicas) server.pause();
  };
  const callsDuring = async (work: () => unknown) => {
    await master.admin.config('RESETSTAT');
    await work();
    const info = await master.admin.info('commandstats');
    const calls = [...info.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)];
    return Object.fromEntries(calls.map(([, name, count]) => [name, Number(count)])) as object;
  };

  describe('when the replicas are there', () => {
    const ways: [string, (options: RedisOptions) => unknown][] = [
      ['a connection of ours', (options) => ({ port: master.server.port, ...options })],
      ...IOREDIS_VERSIONS.map(([version, ioredis]): [string, (o: RedisOptions) => unknown] => [
        `a client of the caller, ${version}`,
        (options) => own(new ioredis.Redis(master.server.port, options as never)),
      ]),
    ];

    it.each(
      ways.flatMap(([way, connection]) =>
        [0, 3].map((db): [string, number, typeof connection] => [way, db, connection]),
      ),
    )('%s, database %d: each of them has the lock at the moment of the grant', async (...row) => {
      const [, db, connection] = row;
      const { locks } = await opened(connection({ db }));
      for (const fenced of [false, true]) {
        const lease = await locks.acquire(NAME, { minReplicas: REPLICAS, fenced });
        expect(await isOnReplicas(db)).toEqual([1, 1]);
        await lease.renew();
        await locks.using(NAME, () => undefined, { minReplicas: 1, waitTimeMs: 0 }).catch(String);
        await lease.release();
      }
    });

    it('asks in the order of the callers, also when Redis has to be sent the script', async () => {
      const { context } = await opened(master.server.url);
      const locks = new FairLockService(context);
      await master.admin.script('FLUSH');
      const granted: number[] = [];
      const wait = { minReplicas: REPLICAS, waitTimeMs: 60_000 };
      await Promise.all([0, 1, 2].map((i) => locks.using(NAME, () => granted.push(i), wait)));
      expect(granted).toEqual([0, 1, 2]);
    });

    it('follows a client of the caller that chooses another database', async () => {
      const client = own(new Redis(master.server.port));
      const { locks } = await opened(client);
      await locks.using(NAME, () => undefined, { minReplicas: REPLICAS });
      await client.select(5);
      const lease = await locks.acquire(NAME, { minReplicas: REPLICAS });
      expect(await isOnReplicas(5)).toEqual([1, 1]);
      await lease.release();
    });

    it('asks once for all who ask at the same time', async () => {
      const { locks } = await opened(master.server.url);
      const names = Array.from({ length: 60 }, (_, i) => `${NAME}_${String(i)}`);
      const take = (name: string) => locks.acquire(name, { minReplicas: REPLICAS });
      await (await take(NAME)).release();
      let leases: Lease[] = [];
      const calls = await callsDuring(async () => {
        leases = await Promise.all(names.map(take));
      });
      expect(calls).toMatchObject({ evalsha: 60, wait: 1 });
      await Promise.all(leases.map((lease) => lease.release()));
    });

    it('leaves neither a key nor a connection behind', async () => {
      const connections = async () => String(await master.admin.client('LIST')).match(/^id=/gm);
      const before = await connections();
      const application = await opened(master.server.url);
      await application.locks.using(NAME, () => undefined, { minReplicas: REPLICAS });
      expect(await connections()).toHaveLength((before?.length ?? 0) + 2);
      await application.close();
      await eventually(async () => expect(await connections()).toHaveLength(before?.length ?? 0));
      expect(await master.admin.keys('*')).toEqual([]);
    });
  });

  describe('when too few of them have it', () => {
    /** Every way in which a replica may be missing, and how it comes back. */
    const FAULTS: [string, number, number, () => unknown][] = [
      ['more were asked for than there are', 3, 2, () => undefined],
      ['one stands still', 2, 1, () => group.replicas[0]?.server.pause()],
      [
        'one follows no master any more',
        2,
        1,
        () => group.replicas[0]?.admin.replicaof('NO', 'ONE'),
      ],
    ];

    afterEach(async () => {
      for (const { server } of group.replicas) server.resume();
      await group.replicas[0]?.admin.replicaof('127.0.0.1', master.server.port);
      await eventually(() => hasReplicas(master, REPLICAS));
    });

    it.each(FAULTS)('%s: refuses, names both numbers, and releases it', async (...row) => {
      const [, minReplicas, replicas, fault] = row;
      const { locks } = await opened(master.server.url);
      await fault();
      for (const verb of ['acquire', 'tryAcquire'] as const) {
        const error = await locks[verb](NAME, { minReplicas }).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(LockReplicationError);
        expect(error).toMatchObject({
          ...{ code: 'LOCK_REPLICATION', lockName: NAME, retryable: false, outcome: 'unknown' },
          ...{ minReplicas, replicas },
        });
        const { message } = error as LockReplicationError;
        expect(message).toContain(`${String(replicas)} of the ${String(minReplicas)} replicas`);
      }
      // The client releases the grant, long before the lease of 30 s ends.
      await eventually(async () => expect(await master.admin.exists(NAME)).toBe(0));
      await (await locks.acquire(NAME, { waitTimeMs: 0 })).release();
    });

    it('waits so briefly that a single attempt behind another group is answered in time', async () => {
      const { locks } = await opened(master.server.url);
      const monitor = own(await master.admin.monitor());
      const waits: number[] = [];
      monitor.on('monitor', (_, [command, , ms]: string[]) => {
        if (command?.toLowerCase() === 'wait') waits.push(Number(ms));
      });
      await expect(locks.acquire(NAME, { minReplicas: 3 })).rejects.toThrow(LockReplicationError);
      await eventually(() => waits.length > 0);
      const [, hz] = await master.admin.config('GET', 'hz');
      // Redis ends a wait at its next tick, and the second one begins at a tick.
      const [waitMs = Infinity, tickMs] = [waits[0], 1_000 / Number(hz)];
      expect(waitMs + tickMs + Math.ceil(waitMs / tickMs) * tickMs).toBeLessThan(ANSWER_MS);
    });

    it('lets no ordinary command wait', async () => {
      const { locks } = await opened(master.server.url);
      const monitor = own(await master.admin.monitor());
      const [waiting, ordinary] = [new Set<string>(), new Set<string>()];
      monitor.on('monitor', (_, words: string[], connection: string) => {
        if (words[0]?.toLowerCase() === 'wait') waiting.add(connection);
        if (words.includes('another')) ordinary.add(connection);
      });
      const refused = locks.acquire(NAME, { minReplicas: 3 });
      await Promise.all([
        expect(refused).rejects.toThrow(LockReplicationError),
        locks.using('another', () => undefined),
      ]);
      await eventually(() => waiting.size > 0 && ordinary.size > 0);
      expect([...ordinary].filter((connection) => waiting.has(connection))).toEqual([]);
    });

    it('releases only what it has asked for: the outer hold stays', async () => {
      const { locks } = await opened(master.server.url);
      await locks.using(NAME, async (lease) => {
        await expect(locks.acquire(NAME, { minReplicas: 3 })).rejects.toThrow(LockReplicationError);
        await eventually(async () =>
          expect(await master.admin.hvals(NAME)).toEqual([String(lease.holdCount)]),
        );
        lease.assertHeld();
      });
    });

    it('passes the lock on to a waiter that asks for less', async () => {
      const [first, second] = [await opened(master.server.url), await opened(master.server.url)];
      const refused = first.locks.acquire(NAME, { minReplicas: 3 });
      const waiting = second.locks.acquire(NAME, { minReplicas: 2 });
      await expect(refused).rejects.toThrow(LockReplicationError);
      await (await waiting).release();
    });
  });

  describe.each(OTHERS)('of a %s', (_, keys, of) => {
    const onMaster = () => master.admin.exists(...keys);

    it('is on each replica at the moment of the grant', async () => {
      const held = await of((await opened(master.server.url)).context);
      const lease = await held.acquire({ minReplicas: REPLICAS });
      for (const { admin } of group.replicas) {
        await admin.select(0);
        expect(await admin.exists(...keys)).toBe(keys.length);
      }
      await lease.renew();
      await lease.release();
      expect(await onMaster()).toBe(0);
    });

    it('is refused when too few have it, and released for a waiter that asks for less', async () => {
      const { context } = await opened(master.server.url);
      const held = await of(context);
      const refusal = { minReplicas: 3, replicas: 2, code: 'LOCK_REPLICATION', outcome: 'unknown' };
      const refused = expect(held.acquire({ minReplicas: 3 })).rejects.toMatchObject(refusal);
      await eventually(async () => expect(await onMaster()).toBeGreaterThan(0));
      // The waiter is in another process, so it can learn of the lock only from Redis.
      const waiter = await of((await opened(master.server.url)).context);
      const waiting = waiter.acquire({ minReplicas: 2 });
      await refused;
      await (await waiting).release();
      await expect(held.tryAcquire({ minReplicas: 3 })).rejects.toMatchObject(refusal);
      await eventually(async () => expect(await onMaster()).toBe(0));
      await (await held.acquire({ waitTimeMs: 0 })).release();
    });
  });

  describe.each<[string, (context: LockContext) => Holdable]>([
    ['lock', (context) => new LockService(context).get(NAME)],
    ['write lock', (context) => new ReadWriteLockService(context).get(NAME).write],
  ])('of a %s that is handed on', (_, of) => {
    it.each(['its own', 'another'])(
      'to %s process is on each replica before the successor begins',
      async (process) => {
        const holder = await opened(master.server.url);
        const waiter = process === 'another' ? await opened(master.server.url) : holder;
        const held = await of(holder.context).acquire();
        const waiting = of(waiter.context).acquire({ minReplicas: REPLICAS });
        // A waiter that waits for longer than a moment listens on the channel of its grants.
        const channels = async () => (await master.admin.pubsub('CHANNELS')) as string[];
        await eventually(async () => (await channels()).some((name) => name.startsWith('nestjs_')));
        await held.release();
        const lease = await waiting;
        for (const { admin } of group.replicas) {
          await admin.select(0);
          const holders = Object.entries(await admin.hgetall(NAME));
          expect(holders.filter(([field]) => field.startsWith(lease.owner))).toHaveLength(1);
          expect(holders.map(([, count]) => count)).not.toContain('0');
        }
        await lease.release();
      },
    );
  });

  describe('of a renewal', () => {
    const heard = (events: readonly LockEvent[], type: LockEvent['type']) =>
      events.filter((event) => event.type === type);

    const countingRenewals = () => {
      let renewals = 0;
      const onEvent = ({ type }: LockEvent) => {
        if (type === 'renewed') renewals += 1;
      };
      const renewedTwice = async () => {
        const before = renewals;
        await eventually(() => renewals >= before + 2);
      };
      return { onEvent, renewedTwice };
    };

    it('that too few have is a failed one: suspect, and lost at the deadline', async () => {
      const settings = { watchdogLeaseMs: 3_000 };
      const { locks, events } = await opened(master.server.url, { settings });
      const lease = await locks.acquire(NAME, { minReplicas: REPLICAS });
      pauseReplicas();
      await eventually(() => lease.state === 'suspect');
      await eventually(() => lease.state === 'lost');
      expect(heard(events, 'renewal-failed')[0]).toMatchObject({
        error: expect.any(LockReplicationError) as unknown,
      });
      expect(lease.signal.reason).toMatchObject({
        ...{ reason: 'expired', cause: expect.any(LockReplicationError) as unknown },
      });
    });

    it('is a failed one whatever is held', async () => {
      const settings = { watchdogLeaseMs: 6_000 };
      // One after the other on one connection, a paused replica would cost the last one its lease.
      const leases = await Promise.all(
        OTHERS.map(async ([title, , of], i) => {
          const { context } = await opened(master.server.url, {
            settings: { ...settings, keyPrefix: `${title} ${String(i)}:` },
          });
          return (await of(context)).acquire({ minReplicas: REPLICAS });
        }),
      );
      pauseReplicas();
      await eventually(() => leases.every(({ state }) => state === 'suspect'));
      await eventually(() => leases.every(({ state }) => state === 'lost'));
    });

    it('is not asked for any more once the nested call is over that wanted it', async () => {
      const { onEvent, renewedTwice } = countingRenewals();
      const settings = { watchdogLeaseMs: 3_000 };
      const { locks, events } = await opened(master.server.url, { settings, onEvent });
      await locks.using(NAME, async (lease) => {
        await locks.using(NAME, () => undefined, { minReplicas: REPLICAS });
        pauseReplicas();
        await renewedTwice();
        lease.assertHeld();
      });
      expect(heard(events, 'suspect')).toEqual([]);
    });

    it('costs no other lease its own, should the connection for replicas say no word', async () => {
      const proxy = await FaultProxy.start({ port: master.server.port });
      const { onEvent, renewedTwice } = countingRenewals();
      const settings = { watchdogLeaseMs: 3_000 };
      const application = await opened(proxy.url, { settings, onEvent });
      try {
        const { locks, events } = application;
        const plain = await locks.acquire(OTHER_NAME);
        const ordinary = new Set(proxy.connections);
        const replicated = await locks.acquire(NAME, { minReplicas: REPLICAS });
        proxy.hold('toClient', { where: (connection) => !ordinary.has(connection) });
        await eventually(() => replicated.state === 'lost');
        await renewedTwice();
        plain.assertHeld();
        await plain.release();
        expect(heard(events, 'suspect')).toMatchObject([{ name: NAME }]);
      } finally {
        await proxy.heal();
        await application.close();
        await proxy.close();
      }
    });

    it('is tried again, and counts as soon as the replicas are back', async () => {
      const settings = { watchdogLeaseMs: 6_000 };
      const { locks, events } = await opened(master.server.url, { settings });
      const lease = await locks.acquire(NAME, { minReplicas: REPLICAS });
      pauseReplicas();
      // A renewal in the same millisecond for the same time has nothing to write, and all replicas have it.
      await expect(lease.renew(8_000)).rejects.toMatchObject({
        ...{ code: 'LOCK_REPLICATION', lockName: NAME, minReplicas: 2, replicas: 0 },
      });
      await eventually(() => lease.state === 'suspect');
      for (const { server } of group.replicas) server.resume();
      await eventually(() => heard(events, 'recovered').length > 0);
      lease.assertHeld();
      await lease.release();
    });
  });

  describe('when the connection is cut', () => {
    let proxy: FaultProxy;
    let application: Application;
    beforeEach(async () => {
      proxy = await FaultProxy.start({ port: master.server.port });
      application = await opened(proxy.url);
    });
    afterEach(async () => {
      await proxy.heal();
      await application.close();
      await proxy.close();
    });

    it.each(['evalsha', 'wait'])(
      'before the answer to %s: script and WAIT are sent again, and the grant is one',
      async (command) => {
        const { connection } = application.context;
        const args = ['another:1', 30_000];
        const enter = () => connection.run(ACQUIRE, [NAME], args, REPLICAS);
        // The connection is there, and the script known.
        expect(await enter()).toMatchObject({ resent: false });
        await master.admin.del(NAME);
        const calls = await callsDuring(async () => {
          proxy.loseReply({ containing: command, times: 1 });
          expect(await enter()).toMatchObject({ value: { kind: 'granted' }, resent: true });
        });
        expect(await isOnReplicas()).toEqual([1, 1]);
        expect(await master.admin.hvals(NAME)).toEqual(['1']);
        // Over the new connection WAIT has something to count, whatever the script has found.
        expect(calls).toMatchObject({ evalsha: 2, wait: 2, set: 1 });
      },
    );

    it('fails as a broken connection when it is cut again', async () => {
      proxy.loseReply({ containing: 'wait' });
      const refused = application.locks.tryAcquire(NAME, { minReplicas: REPLICAS });
      await expect(refused).rejects.toMatchObject({
        ...{ code: 'LOCK_BACKEND', retryable: true, outcome: 'unknown' },
      });
      await eventually(async () => expect(await master.admin.exists(NAME)).toBe(0));
    });
  });
});
