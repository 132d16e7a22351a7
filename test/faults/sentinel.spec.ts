import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../support/eventually.js';
import { useApplications } from './support/applications.js';
import { Calls } from './support/calls.js';
import { killNode, SentinelGroup } from '../support/topology.js';

const LEASE_MS = 12_000;
const WAIT_MS = 40_000;

describe('LockService behind Sentinel', () => {
  const open = useApplications();
  let group: SentinelGroup;

  beforeAll(async () => {
    group = await SentinelGroup.start();
  });
  afterAll(() => group.stop());

  it('goes on with the replica when the master is killed', async () => {
    const settings = { leaseTimeMs: LEASE_MS };
    const holder = open(group.connection, { settings });
    const waiter = open(group.connection, { settings });
    const names = Array.from({ length: 10 }, (_, i) => `product_${String(i)}`);
    const held = await Promise.all(
      names.map((name) => holder.locks.acquire(name, { fenced: true })),
    );
    const waiting = names.map((name) =>
      waiter.locks.acquire(name, { fenced: true, waitTimeMs: WAIT_MS }),
    );
    const calls = new Calls(
      waiter,
      names.map((name) => `other_${name}`),
    );
    await eventually(() => calls.done > 100);
    // What the replica has not seen yet may be lost; this is about the failover alone.
    await eventually(async () => expect(await group.replicas[0]?.admin.exists(...names)).toBe(10));

    await killNode(group.master);
    const doneBefore = calls.done;
    await eventually(() => calls.done > doneBefore + 100, { withinMs: 30_000 });
    await calls.stop();
    expect(calls.unexpected).toEqual([]);

    const promoted = await group.promoted();
    // Kept or told, and never anything else.
    for (const lease of held) {
      const [owner] = await promoted.admin.hkeys(lease.name);
      if (lease.state === 'held') expect(owner).toBe(lease.owner);
      else expect(lease.state).not.toBe('released');
    }
    await Promise.allSettled(held.map((lease) => lease.release()));
    const granted = await Promise.all(waiting);
    granted.forEach((lease, i) => {
      expect(lease.fencingToken).toBeGreaterThan(held[i]?.fencingToken ?? Infinity);
      lease.assertHeld();
    });
    await Promise.all(granted.map((lease) => lease.release()));
    expect(await promoted.admin.keys('*product_?')).toEqual([]);
  });
});
