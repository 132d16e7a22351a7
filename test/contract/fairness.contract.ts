import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { roundTrips, type LockSuite } from './suite.js';

/** The first caller to ask has the lock first, whichever client it uses. */
export function describeFairness({ redis, open }: LockSuite): void {
  describe('the order of several clients', () => {
    it('is that of their calls, and no caller that comes later overtakes', async () => {
      const clients = [open(), open(), open()];
      const first = await clients[0]?.locks.acquire('a');
      const order: number[] = [];
      const calls = [];
      for (const [i, { locks }] of [...clients, ...clients].entries()) {
        calls.push(
          locks.acquire('a', { waitTimeMs: 60_000 }).then((lease) => {
            order.push(i);
            return lease;
          }),
        );
        // Each waiter of a fair lock has a channel of its own, and listens once it stands in the queue.
        await eventually(async () => (await redis.wakeUpChannels()).length === i + 1);
        await roundTrips(redis, 2);
      }
      const late = open();
      let releasing = first?.release();
      for (const call of calls) {
        expect(await late.locks.tryAcquire('a')).toBeNull();
        await releasing;
        releasing = (await call).release();
      }
      await releasing;
      expect(order).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await late.locks.tryAcquire('a')).not.toBeNull();
    });
  });
}
