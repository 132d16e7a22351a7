import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { FaultProxy } from '../support/fault-proxy.js';
import { seededRandom, useRealRedis, useWorkers, type Random } from '../support/set-up.js';
import type { Manners } from './support/ways.js';
import { telling, type Story } from './support/history.js';
import {
  ArmedFaults,
  comeAfterConnection,
  WAYS_TO_CUT,
  type WayToCut,
} from './support/network-faults.js';
import { repeat } from './support/pace.js';
import { PATIENT, survive } from './support/survive.js';

const LEASE_MS = 3_000;

/** A late entry is executed as it stands: its hold count may be one of the past for a moment. */
const WITHOUT_COUNTING: Manners = {
  plain: 4,
  bare: 2,
  fenced: 2,
  try: 1,
  impatient: 1,
  aborting: 1,
};

describe('LockService on a network that fails', () => {
  const redis = useRealRedis();
  const referee = useRealRedis();
  const workers = useWorkers();
  let proxy: FaultProxy;

  beforeEach(async () => {
    proxy = await FaultProxy.start({ port: redis.port });
  });
  afterEach(() => proxy.close());

  const onTheProxy = (story: Story, label: string) => ({
    workers,
    redis,
    referee,
    story,
    lockUrl: proxy.url,
    random: seededRandom(label),
    settings: { watchdogLeaseMs: LEASE_MS },
  });

  it('never miscounts holds, frees what is not its own or leaves anything behind: 2,000 cuts', async () => {
    await telling('cuts', async (story) => {
      const random = seededRandom('cuts/faults');
      const crowd = { ...onTheProxy(story, 'cuts'), instances: 60, callers: 3, keys: 24 };
      const totals = await survive(crowd, async () => {
        await cutAtRandom(proxy, random, story, { cuts: 2_000, withinMs: 60_000 });
        await proxy.heal();
      });
      expect(totals.sections).toBeGreaterThan(30);
    });
  });

  it('lets a request that arrives late do harm for one lease at most', async () => {
    await telling('zombies', async (story) => {
      const random = seededRandom('zombies/faults');
      const size = { instances: 24, callers: 3, keys: 12, manners: WITHOUT_COUNTING };
      const totals = await survive({ ...onTheProxy(story, 'zombies'), ...size }, async () => {
        await deliverLate(proxy, random, story, { requests: 200, withinMs: 12_000 });
        await proxy.heal();
      });
      expect(totals.sections).toBeGreaterThan(25);
    });
  });

  it('survives SCRIPT FLUSH every few milliseconds without an error', async () => {
    await telling('script flush', async (story) => {
      const size = { instances: 8, callers: 4, keys: 16, manners: PATIENT };
      let flushes = 0;
      const totals = await survive({ ...onTheProxy(story, 'script-flush'), ...size }, () =>
        repeat(
          async () => {
            await redis.admin.script('FLUSH');
            flushes++;
          },
          { until: () => flushes === 300, withinMs: 20_000, everyMs: 1 },
        ),
      );
      expect(totals).toMatchObject({ lost: 0, timeouts: 0, backendErrors: 0 });
      expect(totals.sections).toBeGreaterThan(30);
    });
  });

  it('counts a lease from the request, however late the answer comes', async () => {
    await telling('slow network', async (story) => {
      const random = seededRandom('slow-network/faults');
      const size = { instances: 12, callers: 3, keys: 6, settings: { watchdogLeaseMs: 400 } };
      const trial = { ...onTheProxy(story, 'slow-network'), ...size, workMs: 250 };
      const totals = await survive(trial, async () => {
        proxy.delay('both', 0, { jitterMs: 200, random });
        const until = () => proxy.counts.delayed > 2_000;
        await repeat(() => undefined, { until, withinMs: 12_000, everyMs: 10 });
        await proxy.heal();
      });
      // Leases that end before the work does are what this is about.
      expect(totals.lost).toBeGreaterThan(3);
      expect(totals.sections - totals.lost).toBeGreaterThan(3);
    });
  });
});

/** Cuts one connection after the other, at points that have nothing to do with what they carry. */
async function cutAtRandom(
  proxy: FaultProxy,
  random: Random,
  story: Story,
  limit: { cuts: number; withinMs: number },
): Promise<void> {
  const armed = new ArmedFaults();
  const waysToCut: [string, WayToCut][] = Object.entries(WAYS_TO_CUT);
  const cutOne = () => {
    const { connections } = proxy;
    if (connections.length === 0) return;
    const victim = random.pick(connections);
    const [name, { cut, mostBytes = 1 }] = random.pick(waysToCut);
    armed.add(cut(proxy, (connection) => connection === victim, random.int(1, mostBytes)));
    story.fault(`${name}, connection ${String(victim.index)}`);
  };
  await repeat(cutOne, {
    until: () => proxy.counts.cut >= limit.cuts,
    withinMs: limit.withinMs,
    everyMs: 1,
  });
}

/** Requests that their clients have given up, and sent again, reach the server after all. */
async function deliverLate(
  proxy: FaultProxy,
  random: Random,
  story: Story,
  limit: { requests: number; withinMs: number },
): Promise<void> {
  let late = 0;
  const holdUp = () => {
    const victims = proxy.connections.filter(({ subscriber }) => !subscriber);
    if (victims.length === 0) return;
    const victim = random.pick(victims);
    const lateMs = random.int(10, 1_000);
    const times = { heldMs: random.int(5, 30), lateMs };
    void comeAfterConnection(proxy, victim, times).then((requests) => {
      late += requests;
      story.fault(`${String(requests)} requests came ${String(lateMs)} ms late`);
    });
  };
  await repeat(holdUp, {
    until: () => late >= limit.requests,
    withinMs: limit.withinMs,
    everyMs: 4,
  });
}
