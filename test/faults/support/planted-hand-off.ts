import type { Contender, Grant } from '../../../libs/redis-lock/src/core/waiting/contender.js';
import type { Claim } from '../../../libs/redis-lock/src/core/holding/protocol.js';
import {
  PlaceInLine,
  type ToldGrant,
} from '../../../libs/redis-lock/src/core/waiting/place-in-line.js';
import {
  RELEASE,
  PASS_IN_ORDER,
  CANCEL,
} from '../../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import { member, scripts, together, wallClock, type Bug } from './planted.js';
import { setBackClock } from './set-back-clock.js';

/** Whoever is made the owner is believed to have heard of it. */
export const DEAD_ARE_GRANTED: Bug = scripts(
  [RELEASE, PASS_IN_ORDER, CANCEL],
  'if receivers and receivers ~= 0 then',
  'if receivers then',
);

/** A push is as old as it looks: it is dated by its arrival. */
export const PUSH_DATED_BY_ARRIVAL: Bug = pushes((told, newest) =>
  told.contender === undefined ? told : { ...told, reply: arrived(newest) },
);

/** A push is believed whatever claim it answers. */
export const STALE_PUSH_BELIEVED: Bug = pushes((told, newest) =>
  told.owner === newest.contender.candidate?.owner
    ? { ...told, contender: newest.contender, reply: arrived(newest) }
    : told,
);

export const DEADLINES_BY_WALL_CLOCK: Bug = wallClock(setBackClock);

interface Newest {
  readonly contender: Contender;
  readonly claim: Claim;
}

/** A push is read in another way, by whoever knows the newest claim. */
function pushes(understood: (told: ToldGrant, newest: Newest) => ToldGrant): Bug {
  const { claim, read } = PlaceInLine.prototype;
  const newest = new WeakMap<PlaceInLine, Newest>();
  const claims = member(PlaceInLine.prototype, 'claim', {
    value(this: PlaceInLine, contender: Contender, isTold: boolean) {
      const made = claim.call(this, contender, isTold);
      newest.set(this, { contender, claim: made });
      return made;
    },
  });
  const reads = member(PlaceInLine.prototype, 'read', {
    value(this: PlaceInLine, payload: string) {
      const told = read.call(this, payload);
      const known = newest.get(this);
      const isOurs = told !== undefined && known?.claim.manner === 'starts';
      return isOurs ? understood(told, known) : told;
    },
  });
  return together(claims, reads);
}

/** Granted just now. */
function arrived({ claim: { leaseTimeMs } }: Newest): Grant {
  const handed = { passes: 0, since: Math.floor(performance.now()), leaseTimeMs };
  const value = { kind: 'granted', fencingToken: undefined, handed } as const;
  return { value, sentAt: performance.now(), resent: false };
}
