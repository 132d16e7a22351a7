import { describe, expect, it } from '@jest/globals';
import { fakeConnection } from '../../../../../test/support/fake-holds.js';
import { Session } from '../session.js';
import { systemClock } from '../time/clock.js';
import { Claims } from './claims.js';
import type { Waiter } from './waiter.js';

describe('a message of a grant', () => {
  it.each([
    ['holds the lock since its claim was sent', 0, true],
    ['asks Redis first when the machine stood still meanwhile', 2_000, false],
  ])('%s', (_, stoodMs, isSure) => {
    let lead = 0;
    const clock = { ...systemClock, wall: () => systemClock.wall() + lead };
    const session = new Session(fakeConnection({ isUp: true }), {}, clock);
    const claims = new Claims(session);
    const waiter = { owner: `${session.id}:7`, leaseTimeMs: 30_000, mode: 'start' } as Waiter;
    const before = clock.now();
    const { nonce } = claims.claimFor(waiter, true);
    const after = clock.now();
    lead = stoodMs;
    const push = claims.read(`7 ${nonce}`);
    expect(push).toMatchObject({ owner: waiter.owner, waiter });
    if (!isSure) expect(push?.sentAt).toBeUndefined();
    else {
      expect(push?.sentAt).toBeGreaterThanOrEqual(before);
      expect(push?.sentAt).toBeLessThanOrEqual(after);
    }
  });
});
