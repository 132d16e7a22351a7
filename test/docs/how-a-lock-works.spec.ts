import { describe, expect, it } from '@jest/globals';
import { LockReplicationError } from 'nestjs-redis-lock/core';
import { FairView } from '../fair-lock/fair-view.js';
import { pageOf } from '../support/proofs.js';
import { everyNodeVotes } from '../support/red-lock-client.js';
import { JavaFairLock } from '../support/redisson-fair.js';
import { channelOf, eventually } from '../support/set-up.js';
import { LEASE_MS, NAME, PATIENT, thread, useStage } from './how-a-lock-works.stage.js';
import type { Step } from './redis-cli.js';

const OTHER_NAME = 'product_2';

const stage = useStage();
const { redis, third, cli, ends, java } = stage;
const { start, startRed, endAll, afresh, within, queueUp } = stage;

const passed = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const reentry: Step[] = [
  async () => {
    await java.lock();
    await java.lock();
  },
  async () => {
    await afresh();
    const { lock } = start('a').locks;
    await within((work) => lock.using(NAME, () => lock.using(NAME, work)));
  },
];

const script: Step[] = [
  async () => {
    await java.lock(60_000);
    await java.lock(20_000);
  },
  async () => {
    await afresh();
    const { lock } = start('a').locks;
    const inner = { leaseTimeMs: 20_000 };
    const outer = { leaseTimeMs: 60_000 };
    await within((work) => lock.using(NAME, () => lock.using(NAME, work, inner), outer));
  },
];

const watchdog: Step[] = [
  async () => {
    await java.lock();
    await passed(10_000);
  },
  java.renew,
  async () => {
    await afresh();
    const { lock } = start('a').locks;
    await lock.acquire(NAME);
    await lock.acquire(OTHER_NAME, { leaseTimeMs: LEASE_MS });
    await passed(35_000);
    await eventually(async () => (await redis.admin.pttl(NAME)) > 29_000);
  },
];

const waiting: Step[] = [
  async () => {
    await java.lock();
    const second = redis.admin.duplicate();
    ends.push(() => {
      second.disconnect();
    });
    await second.subscribe(channelOf(NAME));
    await java.lock(LEASE_MS, thread(54));
  },
  async () => {
    await afresh();
    await queueUp();
  },
];

const release: Step[] = [
  async () => {
    await java.lock();
    await java.unlock();
  },
  async () => {
    const { lease, next } = await queueUp();
    await lease.release();
    await eventually(async () => (await redis.admin.pttl(NAME)) > 20_000);
    (await next).assertHeld();
  },
];

const fair: Step[] = [
  async () => {
    await new JavaFairLock(redis.admin, NAME, 53).tryLock();
    await new JavaFairLock(redis.admin, NAME, 54).tryLock();
    await new JavaFairLock(redis.admin, NAME, 55).tryLock();
  },
  () => new JavaFairLock(redis.admin, NAME, 53).unlock(),
  async () => {
    await afresh();
    const view = new FairView(redis, NAME);
    const lease = await start('a').locks.fair.acquire(NAME);
    const next = await view.enqueue(start('b').locks.fair, PATIENT);
    await view.enqueue(start('c').locks.fair, PATIENT);
    await view.allWaitersListen();
    await lease.release();
    (await next.promise).assertHeld();
  },
];

const readers: Step[] = [
  async () => {
    await java.read(thread(53));
    await java.read(thread(54));
  },
  async () => {
    await afresh();
    const { read, write } = start('a').locks.readWrite.get(NAME);
    await within((work) =>
      write.using(async () => {
        await read.acquire();
        await work();
      }),
    );
  },
  async () => {
    // The scope of the writer alone: its process goes on to read.
    await ends.pop()?.();
  },
];

const permits: Step[] = [
  async () => {
    // RSemaphore is bare commands in a script each.
    await redis.admin.set('gateway', 3);
    await redis.admin.decrby('gateway', 1);
  },
  async () => {
    await afresh();
    await start('a').locks.semaphore.get('gateway', { capacity: 3 }).acquire();
  },
  async () => {
    await start('b').locks.latch.get('sale').trySetCount(2);
  },
  async () => {
    const latch = start('c').locks.latch.get('sale');
    await latch.countDown();
    await latch.countDown();
  },
];

const several: Step[] = [
  async () => {
    await start('a').locks.lock.multi([OTHER_NAME, NAME]).acquire();
  },
  async () => {
    await afresh();
    const client = startRed();
    await everyNodeVotes(client);
    third.pause();
    const lease = await client.locks.acquire(NAME);
    ends.push(async () => {
      third.resume();
      await lease.release();
    });
  },
];

const failover: Step[] = [
  async () => {
    await start('a').locks.lock.acquire(NAME);
  },
  () => redis.restart(),
  async () => {
    await start('b').locks.lock.acquire(NAME);
  },
  async () => {
    const { lock } = start('c').locks;
    const refused = lock.acquire(OTHER_NAME, { minReplicas: 1 });
    await expect(refused).rejects.toThrow(LockReplicationError);
    await eventually(async () => (await redis.admin.exists(OTHER_NAME)) === 0);
  },
];

const SCENARIOS = [
  ...[reentry, script, watchdog, waiting, release],
  ...[fair, readers, permits, several, failover],
];

const PAGES = ['docs/how-a-lock-works.zh-CN.md', 'docs/how-a-lock-works.md'];

type Blocks = Map<string, string>;

/** The blocks of a page, by the number of their section. */
function blocksOf(page: string): Blocks {
  const sections = pageOf(page).matchAll(/^## (\d+)\. .*?^```text\n(.*?)^```$/gms);
  return new Map([...sections].map(([, number = '', block = '']) => [number, block]));
}

const withoutRemarks = (block: string) => block.replace(/^#.*/gm, '#');

describe('the blocks of how-a-lock-works.md', () => {
  const [chinese, english] = PAGES.map(blocksOf) as [Blocks, Blocks];

  it('have a scenario each', () => {
    const numbers = SCENARIOS.map((_, i) => String(i + 1));
    expect([...chinese.keys()]).toEqual(numbers);
  });

  it.each(SCENARIOS.map((steps, i) => [String(i + 1), steps] as const))(
    'show in section %s what Redis answers, in both languages',
    async (number, steps) => {
      const block = chinese.get(number) ?? '';
      // Between two hooks made time would run to the end of what is held.
      const shown = await cli.run(block, steps).finally(endAll);
      expect(shown).toBe(block);
      expect(withoutRemarks(english.get(number) ?? '')).toBe(withoutRemarks(shown));
    },
  );
});
