import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Cluster } from 'ioredis';

import { hashSlot } from '../../libs/redis-lock/src/ioredis/hash-slot.js';
import { eventually } from '../support/eventually.js';
import type { Application, ApplicationOptions } from './support/application.js';
import { useApplications } from './support/applications.js';
import { Calls } from './support/calls.js';
import { handOversOf } from './support/hand-over.js';
import { ClusterGroup, killNode } from '../support/topology.js';

const LEASE_MS = 3_000;
const WAIT_MS = 40_000;
const NEVER_POLL_MS = 60_000;
/** On a machine that is busy with other things. */
const ROUND_TRIP_MS = 200;
const SLOTS = 16_384;
const NAMES = Array.from({ length: 60 }, (_, i) => `product_${String(i)}`);

describe('LockService on a cluster', () => {
  const open = useApplications();
  let group: ClusterGroup;
  const clients: Cluster[] = [];

  beforeAll(async () => {
    group = await ClusterGroup.start();
  });
  afterAll(() => group.stop());
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  async function openOnCluster(options: ApplicationOptions): Promise<Application> {
    const client = group.connect();
    clients.push(client);
    const application = open(client, options);
    await eventually(() => client.status === 'ready');
    return application;
  }

  it('renews locks of all slots, and wakes waiters by message on every node', async () => {
    let renewed = 0;
    const holder = await openOnCluster({
      settings: { leaseTimeMs: LEASE_MS },
      onEvent: (event) => {
        if (event.type === 'renewed') renewed += event.leases;
      },
    });
    const held = await Promise.all(NAMES.map((name) => holder.locks.acquire(`held_${name}`)));
    expect(new Set(held.map(({ name }) => Math.floor((hashSlot(name) * 3) / SLOTS))).size).toBe(3);

    const waiter = await openOnCluster({ settings: { pollIntervalMs: NEVER_POLL_MS } });
    const parties = { holder, waiter, listeners: group.listeners.bind(group) };
    let waits: number[] = [];
    for (let round = 0; round < 5; round++) {
      waits = waits.concat(await handOversOf(parties, { keys: 30, until: () => true }));
    }
    expect(Math.max(...waits)).toBeLessThan(5 * ROUND_TRIP_MS);

    // Two leases and more.
    await eventually(() => renewed >= 7 * held.length, { withinMs: 30_000 });
    for (const lease of held) lease.assertHeld();
    await Promise.all(held.map((lease) => lease.release()));
  });

  it('goes on with the replica when a master is killed', async () => {
    const settings = { leaseTimeMs: 12_000 };
    const [holder, waiter] = [await openOnCluster({ settings }), await openOnCluster({ settings })];
    const held = await Promise.all(
      NAMES.map((name) => holder.locks.acquire(name, { fenced: true })),
    );
    const waiting = NAMES.map((name) =>
      waiter.locks.acquire(name, { fenced: true, waitTimeMs: WAIT_MS }),
    );
    const others = NAMES.map((name) => `other_${name}`);
    const calls = new Calls(waiter, others.slice(0, 10));
    await eventually(() => calls.done > 100);

    await Promise.all(group.masters.slice(0, 1).map(killNode));
    const onVictim = (name: string) => hashSlot(name) < Math.ceil(SLOTS / 3);
    const name = others.find(onVictim) ?? '';
    // The shard works again once the replica has taken over.
    await eventually(() => holder.locks.using(name, () => true), { withinMs: 30_000 });
    await calls.stop();
    expect(calls.unexpected).toEqual([]);

    for (const lease of held) {
      if (!onVictim(lease.name)) lease.assertHeld();
      else expect(['held', 'suspect', 'lost']).toContain(lease.state);
    }
    await Promise.allSettled(held.map((lease) => lease.release()));
    const granted = await Promise.all(waiting);
    granted.forEach((lease, i) => {
      expect(lease.fencingToken).toBeGreaterThan(held[i]?.fencingToken ?? Infinity);
      lease.assertHeld();
    });
    await Promise.all(granted.map((lease) => lease.release()));
  });
});
