import { describe, expect, it } from '@jest/globals';
import { fakeHold } from '../../../../../test/support/fake-holds.js';
import { LeaseLostError } from '../api/errors.js';
import { HeldLease } from './held-lease.js';
import type { Holds } from './holds.js';

describe('HeldLease', () => {
  it('is released once, also if a caller that hears of the loss releases it meanwhile', async () => {
    const hold = fakeHold();
    const lost = new LeaseLostError('a', 'expired');
    const released: HeldLease[] = [];
    const again: Promise<void>[] = [];
    const release = (lease: HeldLease) => {
      released.push(lease);
      again.push(lease.release());
      lease.isReleased = true;
      return Promise.reject(lost);
    };
    const leaseIn = (parent?: HeldLease) =>
      new HeldLease(hold, 1, undefined, parent, -Infinity, hold.options, {
        holds: {} as Holds,
        release,
      });
    const parent = leaseIn();
    let turns = 0;
    parent.passTurn = () => (turns += 1);
    const lease = leaseIn(parent);

    await expect(lease.release()).rejects.toBe(lost);
    await Promise.all(again);
    expect(released).toEqual([lease]);
    expect(turns).toBe(1);
  });
});
