import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import type { Lease, LockSettings } from 'nestjs-redis-lock';

import { LockReplicationError } from '../../libs/redis-lock/src/core/api/errors.js';
import { hashSlot } from '../../libs/redis-lock/src/connection/hash-slot.js';
import { isOverNodeRedis } from '../support/client.js';
import { IOREDIS_VERSIONS } from '../support/ioredis-versions.js';
import { eventually, seededRandom } from '../support/set-up.js';
import { MasterGroup, killNode, type ClusterGroup, type Node } from '../support/topology.js';
import type { Application, ApplicationOptions } from './support/application.js';
import { useApplications } from './support/applications.js';
import { Load } from './support/load.js';
import {
  PRIMITIVES,
  type Held,
  type Kind,
  type Primitive,
  type Take,
} from './support/primitives.js';
import {
  startCluster,
  startSentinel,
  startStandalone,
  type ClusterTopology,
  type Topology,
} from './support/topologies.js';

const NEVER_POLL_MS = 60_000;
/** A hand-over by message takes a round trip; with a poll only, it would take a minute. */
const BY_MESSAGE_MS = 5 * 1_000;
/** The mark of an opening lasts 3 s, and what else may be left here minutes. */
const MARK_MS = 5 * 3_000;
const LEASE_MS = 12_000;
const WAIT_MS = 40_000;
const FAILOVER_MS = 30_000;
const STARTING_MS = 60_000;

const ODD_NAMES = [
  ...['a', 'product 1', 'a:b', ':', '::a', 'a:', '{tag}a', 'a{tag}', 'a{b:c}d', '{a}:lock'],
  ...['秒杀', 'ключ:{ключ}', '🎟', 'a\u00a0b', '*', 'a?b[c]', '%s'],
  ...['"', "'", '\\', 'a|b', '-1', '0'],
  'x'.repeat(900),
];

/** Valid ones, of whatever is special to Redis or to the rules for names. */
function namesAtRandom(count: number): string[] {
  const random = seededRandom('names');
  const pieces = Array.from('ab0:-_./*?[]%"秒🎟 ');
  const text = () => Array.from({ length: random.int(1, 8) }, () => random.pick(pieces)).join('');
  const tagged = () => `${text()}{${text()}}${text()}`;
  return Array.from({ length: count }, () =>
    `n${random.chance(0.5) ? tagged() : text()}`.trim(),
  ).filter((name) => !name.endsWith('}') || !name.startsWith('{'));
}

const own: (Redis | Cluster)[] = [];

/** An application gets this as its connection; the spec ends a client afterwards. */
function connected(make: () => unknown): unknown {
  const connection = make();
  if (typeof connection === 'object' && connection !== null && 'disconnect' in connection) {
    const client = connection as Redis;
    client.on('error', () => undefined);
    own.push(client);
  }
  return connection;
}

function useClients() {
  const open = useApplications();
  afterEach(() => {
    for (const client of own.splice(0)) if (client.status !== 'end') client.disconnect();
  });
  return async (make: () => unknown, options?: ApplicationOptions): Promise<Application> => {
    const application = open(connected(make), options);
    await eventually(() => application.locks.get('warm').remainingTimeMs(), {
      withinMs: FAILOVER_MS,
    });
    return application;
  };
}

/** These keys outlive the locks on purpose: fencing tokens, and notes of requests that may arrive again. */
const STAYS = /^(redisson_lock_token|nestjs_(latch|semaphore)_request):/;

async function leftIn(topology: Topology, { staysBehind }: Kind, names: readonly string[]) {
  const keys = await topology.keys();
  return keys.filter((key) => !STAYS.test(key) && !(staysBehind === true && names.includes(key)));
}

type Way = [
  title: string,
  connect: (topology: Topology) => unknown,
  publish: LockSettings['publish'],
];

const OWN = 'what the library opens itself';

/** Over node-redis a client of an application is none of ioredis. A cluster of it becomes options. */
function waysOn(title: string): Way[] {
  const ofCallers = IOREDIS_VERSIONS.map(([version, clients]): Way => {
    const name = isOverNodeRedis ? OWN : version;
    return [name, (topology) => topology.connect(clients), 'auto'];
  });
  if (title !== 'a cluster') {
    const own: Way = [OWN, (topology) => topology.own?.(), 'auto'];
    return isOverNodeRedis ? [own] : [own, ...ofCallers];
  }
  const ways = isOverNodeRedis ? ofCallers.slice(0, 1) : ofCallers;
  const plain = ways.map(([version, connect]): Way => {
    return [`${version}, without sharded messages`, connect, 'plain'];
  });
  return [...ways, ...plain];
}

describe.each<[string, () => Promise<Topology>]>([
  ['a single server', startStandalone],
  ['Sentinel', startSentinel],
  ['a cluster', startCluster],
])('on %s', (title, start) => {
  const open = useClients();
  let topology: Topology;

  beforeAll(async () => {
    topology = await start();
  }, STARTING_MS);
  afterAll(() => topology.stop());

  const WAYS = waysOn(title);
  const first = () => WAYS[0]?.[1](topology);
  const last = () => WAYS.at(-1)?.[1](topology);

  it.each(WAYS)(
    'everything is taken, waited for and released under every valid name by %s',
    async (...row) => {
      const [, connect, publish] = row;
      const names = [...new Set([...ODD_NAMES, ...namesAtRandom(20)])];
      const settings = { pollIntervalMs: NEVER_POLL_MS };
      const holder = await open(() => connect(topology), { publish });
      const waiter = await open(() => connect(topology), { publish, settings });
      for (const kind of PRIMITIVES) {
        const [{ against }, { take }] = [kind.of(holder.context), kind.of(waiter.context)];
        const held = await Promise.all(names.map((name) => against(name, WAIT_MS)));
        const waiting = names.map((name) => take(name, WAIT_MS));
        const releasedAt = performance.now();
        await Promise.all(held.map((lease) => lease.release()));
        const granted = await Promise.all(waiting);
        expect(performance.now() - releasedAt).toBeLessThan(BY_MESSAGE_MS);
        await Promise.all(granted.map((lease) => lease.release()));
        // On a busy machine they wait for a second, which leaves the mark of an opening.
        await eventually(
          async () => {
            expect(await leftIn(topology, kind, names)).toEqual([]);
          },
          { withinMs: MARK_MS },
        );
        await topology.clear();
      }
    },
  );

  if (title === 'a cluster') {
    it('loses nothing while slots move to other masters and back', async () => {
      const { group } = topology as ClusterTopology;
      await moveSlotsUnderLoad(group, (options) => open(last, options));
      await topology.clear();
    });

    it('asks the replicas of the master that a slot is on its way to', async () => {
      const { group } = topology as ClusterTopology;
      const { locks } = await open(last);
      const name = 'product_1';
      const slot = hashSlot(name);
      const held: (Lease | null)[] = [];
      const confirmed = async () => {
        held.push(await untilConfirmed(() => locks.tryAcquire(name, { minReplicas: 1 })));
        expect(held.at(-1)?.state).toBe('held');
      };
      for (let round = 0; round < 2; round += 1) {
        const from = await group.masterOf(slot);
        const to = group.masters.find((master) => master !== from) as Node;
        await group.moveSlot(slot, to, confirmed);
        await held.at(-1)?.release();
        await confirmed();
        await held.at(-1)?.release();
      }
    });
  }

  it('holders keep it or are told, and waiters get in, when the master is killed', async () => {
    const settings = { watchdogLeaseMs: LEASE_MS };
    const [holder, waiter] = [await open(first, { settings }), await open(last, { settings })];
    const trials = await Promise.all(
      PRIMITIVES.map((kind) => Trial.begin(kind, kind.of(holder.context), kind.of(waiter.context))),
    );
    const names = trials.flatMap((trial) => trial.names);
    await eventually(() => topology.areReplicated(names));

    await topology.killMaster();
    await Promise.all(trials.map((trial) => trial.goesOn(topology)));
    await Promise.all(trials.map((trial) => trial.end(topology)));
    const nothingIsLeft = async () => {
      await Promise.all(trials.map((trial) => trial.prepare()));
      expect(await leftByAll(topology)).toEqual([]);
    };
    await eventually(nothingIsLeft, { withinMs: LEASE_MS + 5_000 });
    await confirmsByReplicas(waiter, topology);
  });
});

async function leftByAll(topology: Topology): Promise<string[]> {
  const staying = PRIMITIVES.filter(({ staysBehind }) => staysBehind);
  const keys = await topology.keys();
  return keys.filter(
    (key) => !STAYS.test(key) && !staying.some(({ title }) => key.startsWith(`${title} `)),
  );
}

const othersOf = (name: string) => `${name} of others`;

/** One kind of lock while a master is killed. */
class Trial {
  private constructor(
    private readonly kind: Kind,
    private readonly holder: Primitive,
    readonly names: readonly string[],
    private readonly held: readonly Held[],
    private readonly waiting: readonly Promise<Held>[],
    private readonly load: Load,
  ) {}

  static async begin(kind: Kind, holder: Primitive, waiter: Primitive): Promise<Trial> {
    const names = Array.from({ length: 8 }, (_, i) => `${kind.title} ${String(i)}`);
    const held = await Promise.all(names.map((name) => holder.against(name, WAIT_MS)));
    const waiting = names.map((name) => waiter.take(name, WAIT_MS));
    const load = new Load(waiter, names.map(othersOf));
    await eventually(() => load.done > 100, { withinMs: 20_000 });
    return new Trial(kind, holder, names, held, waiting, load);
  }

  /** The servers work again, and no call has ended in another way than it may. */
  async goesOn(topology: Topology): Promise<void> {
    const { load } = this;
    const isHit = (name: string) => this.#isHit(name, topology);
    expect(this.names.some(isHit)).toBe(true);
    const doneBefore = load.doneOf(isHit);
    await eventually(() => load.doneOf(isHit) > doneBefore + 100, { withinMs: FAILOVER_MS });
    await load.stop();
    expect(load.unexpected).toEqual([]);
  }

  async end(topology: Topology): Promise<void> {
    const { held, names, waiting } = this;
    for (const [i, { state }] of held.entries()) {
      // A lease is kept or reported lost. A lease that no failure has touched is kept.
      const isHit = this.#isHit(names[i] ?? '', topology);
      if (state !== undefined)
        expect(isHit ? ['held', 'suspect', 'lost'] : ['held']).toContain(state);
    }
    const leases = held.filter(({ state }) => state !== undefined);
    if (topology.keepsData && leases.length > 0) {
      // The application of the waiters may have reached the new master first.
      const areKept = () => leases.some(({ state }) => state === 'held');
      await eventually(areKept, { withinMs: LEASE_MS });
    }
    await this.prepare();
    await Promise.allSettled(held.map((lease) => lease.release()));
    const granted = await Promise.all(waiting);
    for (const [i, { state, fencingToken }] of granted.entries()) {
      if (state !== undefined) expect(state).toBe('held');
      const before = held[i]?.fencingToken;
      if (before !== undefined && fencingToken !== undefined) {
        expect(fencingToken).toBeGreaterThan(before);
      }
    }
    await Promise.all(granted.map((lease) => lease.release()));
  }

  /** Each name, also one of the load, becomes as its holders and waiters need it. */
  async prepare(): Promise<void> {
    for (const name of this.names) {
      await this.holder.prepare?.(name);
      await this.holder.prepare?.(othersOf(name));
    }
  }

  #isHit(name: string, { isHit }: Topology): boolean {
    return (this.kind.keysOf?.(name) ?? [name]).some(isHit);
  }
}

/** As many replicas as are left confirm a grant, and one more is one too many. */
async function confirmsByReplicas({ locks }: Application, topology: Topology): Promise<void> {
  for (const name of ['product_1', 'product_2', 'product_3', 'product_4', 'product_5']) {
    const left = topology.replicasOf(name);
    const confirmed = () => locks.using(name, () => true, { minReplicas: left });
    // The other replicas have yet to follow the new master.
    await eventually(confirmed, { withinMs: FAILOVER_MS, everyMs: 50 });
    const refused = locks.acquire(name, { minReplicas: left + 1 });
    await expect(refused).rejects.toThrow(LockReplicationError);
    await expect(refused).rejects.toMatchObject({ minReplicas: left + 1, replicas: left });
  }
}

/** A replica that stands still for a moment answers too late. */
async function untilConfirmed<T>(take: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await take();
    } catch (error) {
      if (!(error instanceof LockReplicationError)) throw error;
    }
  }
}

async function moveSlotsUnderLoad(
  group: ClusterGroup,
  open: (options: ApplicationOptions) => Promise<Application>,
): Promise<void> {
  // Renewed again and again; but a script of several keys is refused for as long as its slot moves.
  const settings = { watchdogLeaseMs: 3_000 };
  const [holder, caller] = [await open({ settings }), await open({ settings })];
  const names = Array.from({ length: 6 }, (_, i) => `moving_${String(i)}`);
  const under = (what: string) => names.map((name) => `{${name}}:${what}`);
  const held = await Promise.all(
    PRIMITIVES.flatMap((kind) => {
      const { take } = kind.of(holder.context);
      return under(`${kind.title} held`).map((name) => take(name, WAIT_MS));
    }),
  );
  const loads = PRIMITIVES.map(({ title, of }) => new Load(of(caller.context), under(title)));
  const confirmed: Take = (name, waitTimeMs) =>
    untilConfirmed(() => caller.locks.acquire(name, { waitTimeMs, minReplicas: 1 }));
  loads.push(new Load({ take: confirmed, against: confirmed }, under('confirmed')));

  for (const name of [...names, ...names]) {
    const slot = hashSlot(name);
    const from = await group.masterOf(slot);
    const others = group.masters.filter((master) => master !== from);
    const doneBefore = loads.map(({ done }) => done);
    await group.moveSlot(slot, others[slot % 2] as Node);
    await eventually(() => loads.every(({ done }, i) => done > Number(doneBefore[i]) + 20), {
      withinMs: FAILOVER_MS,
    });
  }
  await Promise.all(loads.map((load) => load.stop()));
  for (const { unexpected, failed, overlaps } of loads) {
    expect({ unexpected, failed, overlaps }).toEqual({ unexpected: [], failed: [], overlaps: [] });
  }
  for (const { state = 'held' } of held) expect(state).toBe('held');
  await Promise.all(held.map((lease) => lease.release()));
}

describe('on five independent masters', () => {
  const open = useClients();
  let group: MasterGroup;

  beforeAll(async () => {
    group = await MasterGroup.start(5);
  }, STARTING_MS);
  afterAll(() => group.stop());

  it('one that is killed is the trouble of its own callers alone', async () => {
    const applications = await Promise.all(
      group.masters.map(({ server }, i) =>
        open(() => server.url, { settings: { watchdogLeaseMs: i === 0 ? 1_000 : 6_000 } }),
      ),
    );
    const everything = applications.map(({ context }) => PRIMITIVES.map(({ of }) => of(context)));
    const [killed = [], ...others] = await Promise.all(
      everything.map((primitives) =>
        Promise.all(primitives.map(({ take }, i) => take(`product_${String(i)}`, WAIT_MS))),
      ),
    );
    await killNode(group.masters[0] as Node);
    await eventually(() => killed.every(({ state = 'lost' }) => state === 'lost'));
    const refused = everything[0]?.map(({ against }, i) => against(`product_${String(i)}`, 300));
    for (const call of await Promise.allSettled(refused ?? [])) {
      expect(call).toMatchObject({ reason: { code: 'LOCK_BACKEND', retryable: true } });
    }
    const left = others.flat();
    for (const { state = 'held' } of left) expect(state).toBe('held');
    await Promise.all(left.map((lease) => lease.release()));
  });
});
