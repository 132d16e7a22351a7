import { describe, expect, it } from '@jest/globals';
import {
  LeaseLostError,
  LockArgumentError,
  LockShutdownError,
  LockTimeoutError,
  type Lease,
} from 'nestjs-redis-lock/core';
import {
  ACQUIRE,
  ACQUIRE_NESTED,
  RELEASE,
} from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type { RedisConnection, Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import {
  GIVE_BACK,
  IDENTIFY,
} from '../../libs/redis-lock/src/primitives/red-lock/red-lock.scripts.js';
import { MOST_DEBTS } from '../../libs/redis-lock/src/primitives/red-lock/voting-node.js';
import { expectCosts } from '../support/costs.js';
import { eventually, Section, watch } from '../support/set-up.js';
import {
  AgedServer,
  everyNodeVotes,
  useProxies,
  useRedLocks,
  useServers,
} from '../support/red-lock-client.js';
import type { RedisFixture } from '../support/redis-server.js';

const STRANGER = 'c0ffee00-0000-4000-8000-000000000009:1';
const LEASE_MS = 2_000;

/** The holder of the lock on each node, or ''. */
const holdersOn = (servers: readonly RedisFixture[], name = 'a') =>
  Promise.all(servers.map(async ({ admin }) => (await admin.hkeys(name)).join()));

const holdsOn = async (servers: readonly RedisFixture[], owner: string, name = 'a') =>
  (await holdersOn(servers, name)).filter((holder) => holder === owner).length;

/** As another process would have it. */
const occupy = ({ admin }: RedisFixture, name = 'a') =>
  admin.multi().hset(name, STRANGER, 1).pexpire(name, 60_000).exec();

class Recorded extends AgedServer {
  constructor(
    inner: RedisConnection,
    private readonly ran: string[],
    private readonly entered: () => Promise<void>,
  ) {
    super(inner);
  }

  protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
    const reply = await super.around(script, run);
    if (script === ACQUIRE.name || script === ACQUIRE_NESTED.name) await this.entered();
    if (script !== IDENTIFY.name) this.ran.push(script);
    return reply;
  }
}

/** A node that sends nothing, and does not answer, until it may. */
class Hanging extends AgedServer {
  constructor(
    inner: RedisConnection,
    private readonly may: { go: Promise<void> },
  ) {
    super(inner);
  }

  protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
    await this.may.go;
    return super.around(script, run);
  }
}

/** The second node hangs from `hang` on, until the returned function is called. */
function hanging() {
  const may = { go: Promise.resolve() };
  return {
    decorate: (inner: RedisConnection, node: number) =>
      node === 1 ? new Hanging(inner, may) : new AgedServer(inner),
    hang: () => {
      let resume: () => void = () => undefined;
      may.go = new Promise((go) => (resume = go));
      return resume;
    },
  };
}

/** Writes down what the node has answered; entries not before they may. */
const recording =
  (recorded: number, ran: string[], entered = () => Promise.resolve()) =>
  (connection: RedisConnection, node: number) =>
    node === recorded ? new Recorded(connection, ran, entered) : new AgedServer(connection);

describe('RedLockService on three servers', () => {
  const servers = useServers(3);
  const proxies = useProxies(servers);
  const open = useRedLocks(servers);
  const openProxied = (options: Parameters<typeof open>[0] = {}) =>
    open({ ...options, nodes: proxies.map(({ url }) => url) });
  const ready = async (client: ReturnType<typeof open>) => {
    await eventually(() => client.connection.nodes.every(({ guard }) => guard.runId !== undefined));
    return client;
  };
  const allBack = async (client: ReturnType<typeof open>) => {
    await Promise.all(proxies.map((proxy) => proxy.heal()));
    await everyNodeVotes(client);
  };

  it('holds the lock on every node, in the format of the plain lock, and frees it on every node', async () => {
    const { locks } = await ready(open());
    const lease = await locks.acquire('a');
    await eventually(async () => expect(await holdsOn(servers, lease.owner)).toBe(3));
    for (const { admin } of servers) {
      expect(await admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
      expect(await admin.pttl('a')).toBeGreaterThan(25_000);
    }
    expect(await locks.get('a').isLocked()).toBe(true);
    expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(25_000);
    await lease.release();
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('excludes clients from each other: an unguarded counter is exact', async () => {
    const clients = await Promise.all([open(), open(), open()].map(ready));
    const section = new Section();
    const { admin } = servers[0] as RedisFixture;
    await Promise.all(
      clients.flatMap(({ locks }) =>
        Array.from({ length: 5 }, () =>
          locks.using('a', () =>
            section.run(async () => admin.set('count', Number(await admin.get('count')) + 1)),
          ),
        ),
      ),
    );
    expect(section).toMatchObject({ entries: 15, most: 1 });
    expect(await admin.get('count')).toBe('15');
  });

  it('grants with one node held by another owner, whichever it is', async () => {
    const { locks } = await ready(open());
    for (const server of servers) {
      await occupy(server);
      const lease = await locks.tryAcquire('a');
      expect(await holdsOn(servers, lease?.owner ?? '')).toBe(2);
      await lease?.release();
      expect(await server.admin.hkeys('a')).toEqual([STRANGER]);
      await server.admin.del('a');
    }
  });

  it('refuses with two nodes held by another owner, and keeps no vote', async () => {
    const { locks } = await ready(open());
    const [first, second] = servers as [RedisFixture, RedisFixture, RedisFixture];
    await Promise.all([occupy(first), occupy(second)]);
    expect(await locks.tryAcquire('a')).toBeNull();
    const sinceStart = performance.now();
    await expect(locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
    expect(performance.now() - sinceStart).toBeLessThan(2_000);
    await eventually(async () =>
      expect(await holdersOn(servers)).toEqual([STRANGER, STRANGER, '']),
    );
    await Promise.all([first.admin.del('a'), second.admin.del('a')]);
  });

  it('joins a hold in a nested call, and frees the lock with the last release', async () => {
    const { locks } = await ready(open());
    await locks.using('a', async ({ owner }) => {
      await locks.using('a', async (inner) => {
        expect(inner).toMatchObject({ owner, holdCount: 2 });
        await eventually(async () => expect(await holdsOn(servers, owner)).toBe(3));
      });
      expect(await holdsOn(servers, owner)).toBe(3);
    });
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
  });

  it.each([
    ['down', (node: number) => servers[node]?.kill()],
    ['slow', (node: number) => proxies[node]?.delay('both', 700)],
    ['hung', (node: number) => servers[node]?.pause()],
    [
      'refusing',
      (node: number) => {
        proxies[node]?.refuse();
        proxies[node]?.cut();
      },
    ],
    ['silent', (node: number) => proxies[node]?.blackhole()],
  ])('serves as before with one node %s', async (kind, fail) => {
    const { locks } = await ready(openProxied({ watchdogLeaseMs: LEASE_MS }));
    try {
      await fail(1);
      const sinceStart = performance.now();
      for (let i = 0; i < 5; i += 1) {
        await locks.using(
          'a',
          async (lease) => {
            await locks.using('a', () => undefined);
            await lease.renew();
            expect(lease.fencingToken).toBeGreaterThan(0);
          },
          { fenced: true },
        );
      }
      // No step waits for the node, not even for the time that a vote may take.
      expect(performance.now() - sinceStart).toBeLessThan(2_000);
    } finally {
      if (kind === 'down') await servers[1]?.start();
      servers[1]?.resume();
      await proxies[1]?.heal();
    }
  });

  it('releases a vote that comes too late to be of use', async () => {
    const { locks } = await ready(openProxied({ watchdogLeaseMs: LEASE_MS }));
    await Promise.all([0, 2].map((node) => occupy(servers[node] as RedisFixture)));
    // Or its answer, which is held, would be that it does not know the script.
    await servers[1]?.admin.script('LOAD', ACQUIRE.lua);
    const fault = proxies[1]?.hold('toClient');
    expect(await locks.tryAcquire('a')).toBeNull();
    await eventually(async () => (await servers[1]?.admin.exists('a')) === 1);
    fault?.heal();
    await eventually(async () => (await servers[1]?.admin.exists('a')) === 0);
    for (const node of [0, 2]) await servers[node]?.admin.del('a');
  });

  it('notes no debt of a node that hangs, but for what that node may have received', async () => {
    const { decorate, hang } = hanging();
    const { locks, connection } = await ready(open({ decorate }));
    const [, second] = connection.nodes;
    const held = await locks.acquire('held');
    await eventually(async () => expect(await holdsOn(servers, held.owner, 'held')).toBe(3));
    const resume = hang();
    const onItsWay = await locks.acquire('on its way');
    await eventually(() => expect(second?.admit(1)).rejects.toThrow('no answer in time'));
    for (let i = 0; i < 50; i += 1) await locks.using(`a${String(i)}`, () => undefined);
    expect(second?.debtCount).toBe(0);
    await Promise.all([held.release(), onItsWay.release()]);
    expect(second?.debtCount).toBe(2);
    resume();
    await eventually(() => second?.debtCount === 0);
    await eventually(async () => expect(await holdersOn(servers, 'held')).toEqual(['', '', '']));
  });

  it('forgets a debt once its lease is over, though the node hangs', async () => {
    const { decorate, hang } = hanging();
    const times = { watchdogLeaseMs: 1_000, longestLeaseMs: 1_000 };
    const client = await ready(open({ ...times, decorate }));
    const lease = await client.locks.acquire('a');
    const resume = hang();
    await lease.release();
    expect(client.connection.nodes[1]?.debtCount).toBe(1);
    // It looks once a second.
    await eventually(() => client.connection.nodes[1]?.debtCount === 0);
    resume();
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
  });

  it('keeps no more debts than a node may have', async () => {
    const { connection } = await ready(open());
    const [node] = connection.nodes;
    const refuse = () => Promise.reject(new Error('refused'));
    const giving = Array.from({ length: MOST_DEBTS + 10 }, async (_, i) =>
      node?.giveBack(`${STRANGER}${String(i)}`, 5_000, refuse),
    );
    await Promise.allSettled(giving);
    expect(node?.debtCount).toBe(MOST_DEBTS);
  });

  it.each([
    [
      'down',
      0,
      (node: number) => {
        proxies[node]?.refuse();
        proxies[node]?.cut();
      },
    ],
    // Its votes are given, and no client learns of them.
    ['deaf', 2, (node: number) => proxies[node]?.hold('toClient')],
  ])(
    'fails within the waiting time with a majority %s, names why, and leaves no vote',
    async (_, votes, fail) => {
      const client = await ready(openProxied());
      const { locks } = client;
      for (const { admin } of servers) await admin.script('LOAD', ACQUIRE.lua);
      for (const node of [1, 2]) fail(node);
      const sinceStart = performance.now();
      const acquiring = locks.acquire('a', { waitTimeMs: 600 });
      const failed = { code: 'LOCK_BACKEND' };
      await expect(acquiring).rejects.toMatchObject({
        ...{ code: 'LOCK_QUORUM', retryable: true, lockName: 'a' },
        // Two failures decide. node-redis may report them before the first node can answer.
        causes: { length: 3, 1: failed, 2: failed },
      });
      await expect(acquiring).rejects.toThrow(/[01] of 3 nodes answered, and 2 have to agree/);
      expect(performance.now() - sinceStart).toBeLessThan(3_000);
      await eventually(async () => (await servers[0]?.admin.exists('a')) === 0);
      expect((await holdersOn(servers)).filter((holder) => holder !== '')).toHaveLength(votes);
      await allBack(client);
      await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
    },
  );

  it('keeps no vote while it waits, and gets the lock as soon as a majority is back', async () => {
    const ran: string[] = [];
    const client = await ready(openProxied({ decorate: recording(0, ran) }));
    const { locks } = client;
    for (const node of [1, 2]) {
      proxies[node]?.refuse();
      proxies[node]?.cut();
    }
    const acquiring = watch(locks.acquire('a'));
    await eventually(() => expect(ran.slice(0, 2)).toEqual([ACQUIRE.name, GIVE_BACK.name]));
    expect(acquiring.state).toBe('pending');
    await proxies[1]?.heal();
    const lease = await acquiring.promise;
    expect(lease.state).toBe('held');
    await allBack(client);
    await lease.release();
  });

  it('is suspect while a majority is away, and held again when it is back in time', async () => {
    const client = await ready(openProxied({ watchdogLeaseMs: 6_000 }));
    const lease = await client.locks.acquire('a');
    const faults = [1, 2].map((node) => proxies[node]?.hold('toServer'));
    await eventually(() => lease.state === 'suspect');
    lease.assertHeld();
    for (const fault of faults) fault?.heal();
    await eventually(() => lease.state === 'held');
    await lease.release();
    expect(client.eventsOf('lost')).toEqual([]);
  });

  it('is lost by the clock when a majority stays away', async () => {
    const { locks } = await ready(openProxied({ watchdogLeaseMs: 500 }));
    const lease = await locks.acquire('a');
    const faults = [1, 2].map((node) => proxies[node]?.hold('toServer'));
    await eventually(() => lease.state === 'lost');
    expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    for (const fault of faults) fault?.heal();
  });

  it('is gone for sure as soon as a majority says so, and leaves nothing on the rest', async () => {
    const { locks } = await ready(open({ watchdogLeaseMs: LEASE_MS }));
    const lease = await locks.acquire('a');
    await eventually(async () => expect(await holdsOn(servers, lease.owner)).toBe(3));
    await Promise.all(servers.slice(0, 2).map(({ admin }) => admin.del('a')));
    await expect(lease.renew()).rejects.toThrow(LeaseLostError);
    expect(lease.signal.reason).toMatchObject({ reason: 'gone' });
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
  });

  it('is put back by a renewal on a node that has forgotten it, and released there as well', async () => {
    const { locks } = await ready(open({ watchdogLeaseMs: 6_000 }));
    const lease = await locks.acquire('a');
    for (const server of servers) {
      await eventually(async () => expect(await holdsOn(servers, lease.owner)).toBe(3));
      await server.admin.del('a');
    }
    await eventually(async () => expect(await holdsOn(servers, lease.owner)).toBe(3));
    await lease.release();
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
  });

  it('is put on a node that another owner releases, and outlives then that another node forgets it', async () => {
    const ran: string[] = [];
    const holder = await ready(open({ decorate: recording(2, ran) }));
    const other = await ready(open());
    const [first, , third] = servers as [RedisFixture, RedisFixture, RedisFixture];
    await occupy(third);
    // Without a watchdog, whose renewals would do it too.
    const lease = await holder.locks.acquire('a', { leaseTimeMs: 30_000 });
    await eventually(() => ran.length > 1);
    await third.admin.del('a');
    await eventually(async () => expect(await holdsOn(servers, lease.owner)).toBe(3));
    await first.admin.del('a');
    expect(await other.locks.tryAcquire('a')).toBeNull();
    lease.assertHeld();
    await lease.release();
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
  });

  it('is not put on a node that answers after the release', async () => {
    const ran: string[] = [];
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const { locks, connection } = await ready(
      open({ decorate: recording(2, ran, () => answered) }),
    );
    await occupy(servers[2] as RedisFixture);
    const lease = await locks.acquire('a');
    await lease.release();
    await servers[2]?.admin.del('a');
    answer();
    await eventually(() => expect(ran).toContain(RELEASE.name));
    // The owner's steps are in turn: another entry would have been sent by now, before this one.
    const last = (redis: RedisConnection) => redis.run(GIVE_BACK, ['b'], [STRANGER]);
    await connection.nodes[2]?.ask(5_000, last);
    expect(ran).toEqual([ACQUIRE.name, RELEASE.name, GIVE_BACK.name]);
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
  });

  it('is put on a node that was refused for as long as a nested call asks for', async () => {
    const { locks } = await ready(open());
    const third = servers[2] as RedisFixture;
    await occupy(third);
    await locks.using('a', () => locks.using('a', toThird, { leaseTimeMs: 30_000 }), {
      leaseTimeMs: 10_000,
    });

    async function toThird() {
      await third.admin.del('a');
      await eventually(async () => expect(await third.admin.pttl('a')).toBeGreaterThan(10_000));
    }
  });

  it('is gone for sure when a nested release finds no majority, and leaves nothing on the rest', async () => {
    const { locks } = await ready(open());
    const [first, , third] = servers as [RedisFixture, RedisFixture, RedisFixture];
    await occupy(third);
    const work = locks.using('a', () => locks.using('a', () => first.admin.del('a')), {
      leaseTimeMs: 30_000,
    });
    await expect(work).rejects.toThrow(LeaseLostError);
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', STRANGER]));
    await third.admin.del('a');
  });

  it('is gone for sure when a nested call finds no majority, and leaves nothing on a node that got it late', async () => {
    const ran: string[] = [];
    let entered = Promise.resolve();
    let answer: () => void = () => undefined;
    const client = await ready(
      open({
        decorate: (connection, node) =>
          node === 0
            ? new Recorded(connection, [], () => entered)
            : recording(2, ran)(connection, node),
      }),
    );
    // The answer that is kept back is waited for.
    Object.assign(client.connection, { limitMs: () => 60_000 });
    const [first, , third] = servers as [RedisFixture, RedisFixture, RedisFixture];
    await occupy(third);
    const work = client.locks.using('a', nested, { leaseTimeMs: 30_000 });
    await expect(work).rejects.toThrow(LeaseLostError);
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));

    async function nested({ owner }: Lease) {
      await first.admin.del('a');
      entered = new Promise((resolve) => (answer = resolve));
      const joining = watch(client.locks.using('a', () => undefined));
      // The vote, six tries to put the lock there, and the nested entry.
      await eventually(() => ran.length === 8);
      await third.admin.multi().del('a').hset('a', owner, 1).exec();
      answer();
      await joining.promise;
    }
  });

  it('is not put back once it was taken away by force', async () => {
    const { locks } = await ready(open({ watchdogLeaseMs: 600 }));
    const lease = await locks.acquire('a');
    expect(await locks.get('a').forceRelease()).toBe(true);
    expect(await locks.get('a').forceRelease()).toBe(false);
    await eventually(() => lease.state === 'lost');
    expect(await holdersOn(servers)).toEqual(['', '', '']);
  });

  it('counts a release of which a majority knows nothing as done while the lease was valid', async () => {
    const client = await ready(openProxied());
    const [first, second, third] = servers as [RedisFixture, RedisFixture, RedisFixture];
    await occupy(third);
    const lease = await client.locks.acquire('a');
    proxies[1]?.refuse();
    proxies[1]?.cut();
    await lease.release();
    expect(client.eventsOf('released').at(-1)).toMatchObject({ outcome: 'unknown' });
    await eventually(async () => (await first.admin.exists('a')) === 0);
    expect(await second.admin.hkeys('a')).toEqual([lease.owner]);
    await proxies[1]?.heal();
    await eventually(async () => (await second.admin.exists('a')) === 0);
    await third.admin.del('a');
  });

  it('calls no lock lost whose release a majority received twice', async () => {
    const client = await ready(openProxied());
    for (const { admin } of servers) await admin.script('LOAD', RELEASE.lua);
    const lease = await client.locks.acquire('a');
    await eventually(async () => expect(await holdsOn(servers, lease.owner)).toBe(3));
    const faults = [0, 1].map((node) => proxies[node]?.loseAnswerTo(RELEASE));
    await lease.release();
    expect(faults.map((fault) => fault?.hits)).toEqual([1, 1]);
    expect(client.eventsOf('released')).toMatchObject([{ outcome: 'unknown' }]);
    expect(client.eventsOf('lost')).toEqual([]);
  });

  it('wakes a waiter by the messages of a majority', async () => {
    const holder = await ready(open());
    const waiter = await ready(open({ pollIntervalMs: 60_000 }));
    const lease = await holder.locks.acquire('a');
    const waiting = watch(waiter.locks.acquire('a'));
    await eventually(async () => {
      for (const { admin } of servers) expect(await admin.pubsub('CHANNELS')).toHaveLength(1);
    });
    await lease.release();
    const sinceRelease = performance.now();
    await (await waiting.promise).release();
    expect(performance.now() - sinceRelease).toBeLessThan(1_000);
  });

  it('settles split votes: of clients that were first on one node each, one gets in', async () => {
    const clients = await Promise.all([0, 1, 2].map(() => ready(open())));
    const order: string[] = [];
    await Promise.all(
      clients.map(({ locks }) =>
        locks.using('a', ({ owner }) => {
          order.push(owner);
        }),
      ),
    );
    expect(new Set(order).size).toBe(3);
  });

  it('notifies no waiter of a vote that is released', async () => {
    const ran: string[] = [];
    const { locks } = await ready(open({ decorate: recording(2, ran) }));
    await Promise.all([0, 1].map((node) => occupy(servers[node] as RedisFixture)));
    const heard: string[] = [];
    const listener = servers[2]?.admin.duplicate();
    listener?.on('message', (_, message: string) => heard.push(message));
    await listener?.subscribe('redisson_lock__channel:{a}');
    expect(await locks.tryAcquire('a')).toBeNull();
    await eventually(() => ran.includes(GIVE_BACK.name));
    await servers[2]?.admin.publish('redisson_lock__channel:{a}', 'end');
    await eventually(() => heard.includes('end'));
    expect(heard).toEqual(['end']);
    listener?.disconnect();
    for (const node of [0, 1]) await servers[node]?.admin.del('a');
  });

  it('gives tokens that rise, whichever minority is away', async () => {
    const { locks } = await ready(openProxied());
    // The clock of one is an hour ahead.
    const ahead = (Date.now() + 3_600_000) * 1_000;
    await servers[2]?.admin.set('redisson_lock_token:{a}', ahead, 'EX', 100);
    const tokens: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      const fault = proxies[i % 3]?.hold('toServer');
      const lease = await locks.acquire('a', { fenced: true });
      tokens.push(lease.fencingToken);
      await lease.release();
      fault?.heal();
      await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
    }
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(tokens[0]).toBeGreaterThan(ahead);
  });

  it('gives no token before a majority knows it', async () => {
    const { locks } = await ready(open());
    const ahead = Date.now() * 1_000 + 3_600_000_000;
    await servers[2]?.admin.set('redisson_lock_token:{a}', ahead, 'EX', 100);
    await occupy(servers[0] as RedisFixture);
    const lease = await locks.acquire('a', { fenced: true });
    expect(lease.fencingToken).toBe(ahead + 1);
    const known = await Promise.all(
      servers.map(({ admin }) => admin.get('redisson_lock_token:{a}')),
    );
    expect(known.filter((token) => token === String(ahead + 1)).length).toBeGreaterThanOrEqual(2);
    await lease.release();
    await servers[0]?.admin.del('a');
  });

  it('refuses a lease that is longer than a restarted node stays away, and minReplicas', async () => {
    const { locks } = await ready(open({ longestLeaseMs: 40_000 }));
    await expect(locks.acquire('a', { leaseTimeMs: 40_001 })).rejects.toThrow(
      /at most 40000.*raise redLock.longestLeaseMs/,
    );
    await expect(locks.acquire('a', { minReplicas: 1 })).rejects.toThrow(LockArgumentError);
    const lease = await locks.acquire('a', { leaseTimeMs: 40_000 });
    await expect(lease.renew(50_000)).rejects.toThrow(LockArgumentError);
    await lease.release();
  });

  it('closes like any lock: waiters are sent away, holders are told, nothing is left', async () => {
    const [holder, waiter] = [await ready(open()), await ready(open())];
    const lease = await holder.locks.acquire('a');
    const waiting = waiter.locks.acquire('a');
    await Promise.all([expect(waiting).rejects.toThrow(LockShutdownError), waiter.close()]);
    await holder.close();
    expect(lease.state).toBe('lost');
    await eventually(async () => expect(await holdersOn(servers)).toEqual(['', '', '']));
    await expect(holder.locks.acquire('a')).rejects.toThrow(LockShutdownError);
  });
  it('does not ask in a loop while another owner holds the lock for minutes', async () => {
    const { locks } = await ready(open());
    await Promise.all(servers.map((server) => occupy(server)));
    await servers[0]?.resetCommandStats();
    await expect(locks.acquire('a', { waitTimeMs: 1_500 })).rejects.toThrow(LockTimeoutError);
    const { evalsha = 0 } = (await servers[0]?.commandStats()) ?? {};
    expect(evalsha).toBeGreaterThan(0);
    // Some four times; in a loop it would be hundreds.
    expect(evalsha).toBeLessThanOrEqual(20);
    await Promise.all(servers.map(({ admin }) => admin.del('a')));
  });

  it('costs on each node what its page says', async () => {
    const { locks } = await ready(open({ longestLeaseMs: 40_000 }));
    const node = servers[1] as RedisFixture;
    let lease: Lease | undefined;
    /** A majority without this node is enough for the caller. */
    const scripts = (expected: number) =>
      eventually(async () => expect((await node.commandStats()).evalsha).toBe(expected));
    const take = async (fenced: boolean) => {
      lease = await locks.acquire('a', { fenced });
      await scripts(fenced ? 2 : 1);
    };
    const release = async () => {
      await lease?.release();
      await scripts(1);
    };
    /** Otherwise it depends on who was asked last whether the token of this node is the largest. */
    const otherTokensAhead = async () => {
      const token = Date.now() * 1_000 + 60_000_000;
      for (const { admin } of [servers[0], servers[2]] as RedisFixture[])
        await admin.set('redisson_lock_token:{a}', token, 'PX', 60_000);
    };
    await expectCosts(node, 'internals/red-lock.md', [
      ['acquire', () => take(false)],
      // In the millisecond of the grant its own lease would prolong nothing.
      ['renew', async () => lease?.renew(40_000).then(() => scripts(1))],
      ['release', release],
      ['acquire, fenced', () => take(true), otherTokensAhead],
      ['release', release],
    ]);
  });
});
