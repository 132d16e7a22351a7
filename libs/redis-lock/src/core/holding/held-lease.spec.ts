import { describe, expect, it } from '@jest/globals';
import { systemClock } from '../time/clock.js';
import { LeaseLostError } from '../api/errors.js';
import type { HoldProtocol } from './protocol.js';
import { Hold } from './hold.js';
import type { Keeper } from './holds.js';
import { HeldLease } from './held-lease.js';

describe('HeldLease', () => {
  it('is given back once, also if whoever hears that it is lost releases it meanwhile', async () => {
    const hold = new Hold({} as HoldProtocol, 'a', 'a', 'owner:1', systemClock);
    const lost = new LeaseLostError('a', 'expired');
    const given: HeldLease[] = [];
    const again: Promise<void>[] = [];
    const keeper = {
      giveBack(lease: HeldLease) {
        given.push(lease);
        again.push(lease.release());
        lease.onGivenBack();
        return Promise.reject(lost);
      },
    } as unknown as Keeper;
    const parent = new HeldLease(hold, 1, undefined, undefined, -Infinity, keeper);
    let turns = 0;
    parent.passTurn = () => (turns += 1);
    const lease = new HeldLease(hold, 2, undefined, parent, -Infinity, keeper);

    await expect(lease.release()).rejects.toBe(lost);
    await Promise.all(again);
    expect(given).toEqual([lease]);
    expect(turns).toBe(1);
  });
});
