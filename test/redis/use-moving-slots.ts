import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { LockSettings } from 'nestjs-redis-lock';

import { hashSlot } from '../../libs/redis-lock/src/connection/hash-slot.js';
import type { Application } from '../faults/support/application.js';
import { useApplications } from '../faults/support/applications.js';
import { eventually } from '../support/eventually.js';
import { ClusterGroup, type Node } from '../support/topology.js';

/** The message is another one if a slow machine answers an attempt too late. */
export const REFUSED = {
  code: 'LOCK_BACKEND',
  retryable: true,
  message: expect.stringContaining('the slot of the lock is moving'),
};

export const isRefused = (call: () => Promise<unknown>) =>
  eventually(() => expect(call()).rejects.toMatchObject(REFUSED));

/** A Cluster of two masters; what the specs leave half way is settled behind each of them. */
export function useMovingSlots() {
  const open = useApplications();
  let group: ClusterGroup;
  const clusters: Cluster[] = [];
  const opened: [number, Node, Node][] = [];

  beforeAll(async () => {
    group = await ClusterGroup.start({ masters: 2, replicated: false });
  });
  afterAll(() => group.stop());
  afterEach(async () => {
    for (const cluster of clusters.splice(0)) cluster.disconnect();
    for (const [slot, from, to] of opened.splice(0)) {
      for (const { admin } of [from, to]) {
        await admin.call('CLUSTER', 'SETSLOT', String(slot), 'STABLE');
        await admin.flushall();
      }
    }
  });

  return {
    group: () => group,
    /** With `isQuick` its client reports a moving slot at once, and otherwise after 1.6 s. */
    process: async (
      settings: Partial<LockSettings> = {},
      isQuick = true,
      options: ConstructorParameters<typeof Cluster>[1] = {},
    ): Promise<Application> => {
      const cluster = new Cluster(group.addresses, {
        ...(isQuick && { retryDelayOnTryAgain: 1 }),
        ...options,
      });
      cluster.on('error', () => undefined);
      clusters.push(cluster);
      const app = open(cluster, { settings: { pollIntervalMs: 500, ...settings } });
      await eventually(() => app.locks.get('warm').remainingTimeMs());
      return app;
    },
    /** Moves these keys of its slot, and leaves the others where they are; the function moves the rest. */
    beginToMove: async (name: string, ...keys: string[]): Promise<() => Promise<void>> => {
      const slot = hashSlot(name);
      const from = await group.masterOf(slot);
      const to = group.masters.find((node) => node !== from) as Node;
      opened.push([slot, from, to]);
      const [source, target] = [from, to].map(({ admin }) => admin.call('CLUSTER', 'MYID'));
      await to.admin.call('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', String(await source));
      await from.admin.call('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', String(await target));
      const place = ['127.0.0.1', String(to.server.port), '', '0', '5000'];
      if (keys.length > 0) await from.admin.call('MIGRATE', ...place, 'KEYS', ...keys);
      return () => group.moveSlot(slot, to);
    },
    /** Apart from the tokens, which stay. */
    keysLeft: async (name: string): Promise<string[]> => {
      const keys = await Promise.all(group.masters.map(({ admin }) => admin.keys(`*${name}*`)));
      return keys.flat().filter((key) => !key.includes('token'));
    },
  };
}
