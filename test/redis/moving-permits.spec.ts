import { describe, expect, it } from '@jest/globals';

import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { hashSlot } from '../../libs/redis-lock/src/connection/hash-slot.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually } from '../support/eventually.js';
import { isRefused, REFUSED, useMovingSlots } from './use-moving-slots.js';

const LEASES = '{moving}:timeout';
describe('while a slot of a Cluster is on its way', () => {
  const { group, process, beginToMove } = useMovingSlots();

  it.each([
    ['nothing', []],
    ['the number of the free ones', ['moving']],
    ['the leases', [LEASES]],
  ])(
    'permits are renewed, and released when it has arrived, if %s went ahead',
    async (_what, keys) => {
      const [ours, others] = [await process(), await process()].map(({ context }) =>
        new SemaphoreService(context).get('moving'),
      ) as [ReturnType<SemaphoreService['get']>, ReturnType<SemaphoreService['get']>];
      await ours.trySetPermits(4);
      const [one, two] = [await ours.acquire({ permits: 2 }), await ours.acquire()];
      const finish = await beginToMove('moving', ...keys);
      await Promise.all([one.renew(60_000), two.renew(60_000)]);
      expect(two.remainingMs).toBeGreaterThan(50_000);
      await isRefused(() => others.tryAcquire());
      await isRefused(() => others.acquire({ waitTimeMs: 300 }));
      const waiting = others.acquire({ permits: 3, waitTimeMs: 30_000 });
      const released = one.release().catch((error: unknown) => error);
      await isRefused(() => ours.tryRelease('a0'.repeat(16)));
      await finish();
      const three = await waiting;
      expect([undefined, expect.objectContaining(REFUSED)]).toContainEqual(await released);
      expect(two.state).toBe('held');
      expect(await ours.availablePermits()).toBe(0);
      expect(await ours.tryAcquire()).toBeNull();
      await Promise.all([two.release(), three.release()]);
      expect(await ours.availablePermits()).toBe(4);
      expect(await ours.permits()).toBe(4);
    },
  );

  it('who takes back the last lease of all waits on', async () => {
    const { context } = await process();
    const semaphore = new SemaphoreService(context).get('moving');
    const waiting = 'nestjs_semaphore_waiting:{moving}';
    const { admin } = await group().masterOf(hashSlot('moving'));
    await admin.set('moving', '0');
    await admin.zadd(LEASES, Date.now() - 1_000, 'of the last year');
    await admin.set(waiting, `${'a0'.repeat(16)}:2`, 'PX', 3_000);
    const finish = await beginToMove('moving');
    // All keys are there, and the script deletes one of them that it reads again.
    const next = semaphore.acquire({ waitTimeMs: 30_000 });
    await eventually(async () => (await admin.get('moving')) === '1');
    await finish();
    await (await next).release();
    expect(await semaphore.availablePermits()).toBe(1);
  });

  it('permits that are no leases are released when it has arrived', async () => {
    const { context } = await process();
    const semaphore = new SemaphoreService(context).counting('moving');
    await semaphore.trySetPermits(3);
    await semaphore.acquire(2);
    const finish = await beginToMove('moving');
    expect(await semaphore.availablePermits()).toBe(1);
    await expect(semaphore.tryAcquire()).rejects.toMatchObject(REFUSED);
    await expect(semaphore.release(2)).rejects.toMatchObject(REFUSED);
    const waiting = semaphore.acquire(3, { waitTimeMs: 30_000 });
    await finish();
    await waiting;
    expect(await semaphore.availablePermits()).toBe(0);
  });

  it('a latch is waited for, and counted down when it has arrived', async () => {
    const { context } = await process();
    const latch = new LatchService(context).get('moving');
    await latch.trySetCount(1);
    const waiting = latch.wait({ waitTimeMs: 30_000 });
    const finish = await beginToMove('moving', 'moving');
    expect(await latch.getCount()).toBe(1);
    await expect(latch.trySetCount(2)).rejects.toMatchObject(REFUSED);
    await expect(latch.countDown()).rejects.toMatchObject(REFUSED);
    expect(await latch.getCount()).toBe(1);
    await finish();
    expect(await waiting).toBe(true);
    await eventually(async () => (await latch.getCount()) === 0);
  });
});
