import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashSlot } from '../../libs/redis-lock/src/ioredis/hash-slot.js';
import { useApplications } from '../faults/support/applications.js';
import { eventually } from '../support/eventually.js';
import { ClusterGroup, type Node } from '../support/topology.js';

describe('renewals in a Cluster', () => {
  const open = useApplications();
  let group: ClusterGroup;

  beforeAll(async () => {
    group = await ClusterGroup.start({ masters: 2, replicated: false });
  });
  afterAll(() => group.stop());

  /** Moves these keys of a slot, and leaves the others where they are. */
  const moveSome = async (slot: number, from: Node, to: Node, keys: readonly string[]) => {
    const [source, target] = await Promise.all(
      [from, to].map(({ admin }) => admin.call('CLUSTER', 'MYID') as Promise<string>),
    );
    await to.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source as string);
    await from.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target as string);
    const place = ['127.0.0.1', String(to.server.port), '', '0', '5000'];
    await from.admin.call('MIGRATE', ...place, 'KEYS', ...keys);
  };

  it('go on for every key of a slot that is half moved', async () => {
    const client = group.connect();
    const { locks, context, events } = open(client, { settings: { watchdogLeaseMs: 6_000 } });
    const { holds } = context;
    const names = Array.from({ length: 40 }, (_, i) => `{moving}${String(i)}`);
    const slot = hashSlot('{moving}');
    try {
      const leases = await Promise.all(
        names.map((name) => locks.acquire(name, { waitTimeMs: 20_000 })),
      );
      const from = await group.masterOf(slot);
      const to = group.masters.find((master) => master !== from) as Node;
      await moveSome(slot, from, to, names.slice(0, 20));
      const before = Math.max(...holds.all.map(({ validUntil }) => validUntil));
      for (const hold of holds.all) holds.renewSoon(hold);
      await eventually(() => holds.all.every(({ validUntil }) => validUntil > before));
      expect(leases.map(({ state }) => state)).toEqual(names.map(() => 'held'));
      expect(events.filter(({ type }) => type === 'renewal-failed')).toEqual([]);
      await group.moveSlot(slot, to);
      await Promise.all(leases.map((lease) => lease.release()));
    } finally {
      await context.close();
      client.disconnect();
    }
  });
});
