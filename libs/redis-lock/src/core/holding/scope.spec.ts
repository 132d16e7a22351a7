import { describe, expect, it } from '@jest/globals';
import type { HoldProtocol } from './protocol.js';
import type { HeldLease, ScopedLease } from './held-lease.js';
import { LeaseLostError } from '../api/errors.js';
import { runInScope, runLocked, surroundingLease } from './scope.js';

const protocol = { kind: 'lock' } as HoldProtocol;

/** A lease on this key, which counts how often it is read. */
class Looked {
  isOpen = true;
  looks = 0;
  readonly hold: { protocol: HoldProtocol; key: string };

  constructor(key: string) {
    this.hold = { protocol, key };
  }

  get members(): readonly HeldLease[] {
    this.looks += 1;
    return [this as unknown as HeldLease];
  }
}

const scopeOf = (lease: Looked) => lease as unknown as ScopedLease;

describe('the scopes that surround a call', () => {
  it('are looked through from within', () => {
    const [outer, inner] = [new Looked('a'), new Looked('b')];
    const found = runInScope(scopeOf(outer), () =>
      runInScope(scopeOf(inner), () =>
        ['a', 'b', 'c'].map((key) => surroundingLease(protocol, key)),
      ),
    );
    expect(found).toEqual([outer, inner, undefined]);
  });

  it.each([
    // As a timer that was set in it.
    ['before the next begins', true, 5],
    ['after that', false, 8],
  ])('are forgotten when they end %s, however long it goes on so', (_, endsBefore, mostLooks) => {
    const leases = Array.from({ length: 50 }, (_, i) => new Looked(String(i)));
    const goOn = (i: number): void => {
      const [before, lease] = [leases[i - 1], leases[i]];
      if (lease === undefined) return;
      runInScope(scopeOf(lease), () => {
        if (before !== undefined) before.isOpen = false;
        expect(surroundingLease(protocol, 'other')).toBeUndefined();
        if (endsBefore) lease.isOpen = false;
        goOn(i + 1);
      });
    };
    goOn(0);
    expect(leases[0]?.looks).toBeLessThan(mostLooks);
  });

  it('that is open is found behind those that are over', () => {
    const [first, second, third] = [new Looked('a'), new Looked('b'), new Looked('c')];
    const found = runInScope(scopeOf(first), () =>
      runInScope(scopeOf(second), () => {
        second.isOpen = false;
        return runInScope(scopeOf(third), () => surroundingLease(protocol, 'a'));
      }),
    );
    expect(found).toBe(first);
  });
});

it('the loss during work says the same as that of the lease, and has the result', async () => {
  const known = {
    ...{ confirmedAt: new Date(5), confirmedAgoMs: 30_000, stoodStillMs: 20_000 },
    ...{ renewalFailedAt: new Date(6), renewalFailedWith: 'no answer' },
  };
  const loss = new LeaseLostError('a', 'expired', known);
  const lease = { name: 'a, b', members: [], release: () => Promise.reject(loss) };
  const error: unknown = await runLocked(lease as unknown as ScopedLease, () => 42).catch(
    (e: unknown) => e,
  );
  expect(error).toMatchObject({ ...known, reason: 'expired', lockName: 'a, b', result: 42 });
  expect((error as Error).cause).toBe(loss);
});
