import type { Claim } from '../../../libs/redis-lock/src/core/holding/protocol.js';
import { Claims, type Push } from '../../../libs/redis-lock/src/core/waiting/claims.js';
import type { Waiter } from '../../../libs/redis-lock/src/core/waiting/waiter.js';
import {
  RELEASE,
  PASS_IN_ORDER,
  CANCEL,
} from '../../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import { member, scripts, together, wallClock, type Bug } from './planted.js';
import { setBackClock } from './set-back-clock.js';

/** The release makes a waiter the owner, even when no client received the message. */
export const DEAD_ARE_GRANTED: Bug = scripts(
  [RELEASE, PASS_IN_ORDER, CANCEL],
  'if receivers ~= 0 then',
  'if true then',
);

/** A push is as old as it looks: it is dated by its arrival. */
export const PUSH_DATED_BY_ARRIVAL: Bug = pushes((push, newest) =>
  push.waiter === undefined ? push : arrived(newest),
);

/** A push is believed whatever claim it answers. */
export const STALE_PUSH_BELIEVED: Bug = pushes((push, newest) =>
  push.owner === newest.waiter.owner ? arrived(newest) : push,
);

export const DEADLINES_BY_WALL_CLOCK: Bug = wallClock(setBackClock);

interface Newest {
  readonly waiter: Waiter;
  readonly claim: Claim;
}

/** The client reads a push in another way, with the newest claim at hand. */
function pushes(understood: (push: Push, newest: Newest) => Push): Bug {
  const { claimFor, read } = Claims.prototype;
  const newest = new WeakMap<Claims, Newest>();
  const claims = member(Claims.prototype, 'claimFor', {
    value(this: Claims, waiter: Waiter, isHearing: boolean) {
      const claim = claimFor.call(this, waiter, isHearing);
      newest.set(this, { waiter, claim });
      return claim;
    },
  });
  const reads = member(Claims.prototype, 'read', {
    value(this: Claims, payload: string) {
      const push = read.call(this, payload);
      const known = newest.get(this);
      const isOurs = push !== undefined && known?.claim.mode === 'start';
      return isOurs ? understood(push, known) : push;
    },
  });
  return together(claims, reads);
}

/** Granted just now. */
function arrived({ waiter, claim: { leaseTimeMs } }: Newest): Push {
  const now = performance.now();
  waiter.batchCount = 0;
  waiter.batchSince = Math.floor(now);
  waiter.grantMs = leaseTimeMs;
  return { owner: waiter.owner, waiter, sentAt: now };
}
