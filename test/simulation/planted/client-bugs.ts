import type { LeaseLostError } from '../../../libs/redis-lock/src/core/api/errors.js';
import { HeldLease } from '../../../libs/redis-lock/src/core/holding/held-lease.js';
import type { Hold } from '../../../libs/redis-lock/src/core/holding/hold.js';
import { Holds } from '../../../libs/redis-lock/src/core/holding/holds.js';
import type { Claim } from '../../../libs/redis-lock/src/core/holding/protocol.js';
import { LockBackendError } from '../../../libs/redis-lock/src/core/api/errors.js';
import type { RedisConnection, Reply } from '../../../libs/redis-lock/src/core/redis/connection.js';
import { Session } from '../../../libs/redis-lock/src/core/session.js';
import type { Deadline } from '../../../libs/redis-lock/src/core/time/deadline.js';
import { Claims, type Push } from '../../../libs/redis-lock/src/core/waiting/claims.js';
import { Waiter } from '../../../libs/redis-lock/src/core/waiting/waiter.js';
import { WaitQueue } from '../../../libs/redis-lock/src/core/waiting/wait-queue.js';
import { WaitQueues } from '../../../libs/redis-lock/src/core/waiting/wait-queues.js';
import { RENEW } from '../../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import { Database } from '../../../libs/redis-lock/src/connection/database.js';
import { PassThrough } from '../../support/pass-through.js';
import { member, together } from '../../faults/support/planted.js';
import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { Bug } from './planted.js';

type Around = <R>(
  run: () => Promise<Reply<R>>,
  process: SimulatedProcess,
  script: string,
) => Promise<Reply<R>>;

/** Something else is done than the run of a script. */
function instead(around: Around): Bug {
  const decorate = (inner: RedisConnection, process: SimulatedProcess) =>
    new (class extends PassThrough {
      protected override around<R>(script: string, run: () => Promise<Reply<R>>) {
        return around(run, process, script);
      }
    })(inner);
  return { options: { decorate } };
}

/** Mistakes of the client of a lock, by what is wrong. */
export const CLIENT_BUGS: Record<string, Bug> = {
  'no renewal is sent': instead(async (run, { clock }, script) => {
    if (script !== RENEW.name) return run();
    return { value: [true] as never, sentAt: clock.now(), resent: false };
  }),
  'a lease counts from the answer': instead(async (run, { clock }) => ({
    ...(await run()),
    sentAt: clock.now(),
  })),
  'deadlines by the wall clock': {
    options: {
      decorate: (inner, process) => {
        const { clock } = process;
        Object.assign(clock, { now: () => clock.wall() });
        return new (class extends PassThrough {
          protected override async around<R>(_: string, run: () => Promise<Reply<R>>) {
            const sentAt = clock.wall();
            return { ...(await run()), sentAt };
          }
        })(inner);
      },
    },
  },
  'a message is as old as it looks': pushes((claims, push) =>
    push.waiter === undefined ? push : arrived(claims, push),
  ),
  'a message is believed whatever claim it answers': pushes((claims, push) =>
    push.owner === inside(claims).waiter?.owner ? arrived(claims, push) : push,
  ),
  'a process goes on without an end': member(Claims.prototype, 'isBatchOver', {
    value: () => false,
  }),
  'a batch has no time': member(Claims.prototype, 'isBatchOver', {
    value(this: Claims, hold: Hold, next: Waiter) {
      const { batchCount, remainingMs } = hold;
      const batchSince = inside(this).session.clock.now();
      return isBatchOver.call(this, { batchCount, batchSince, remainingMs } as Hold, next);
    },
  }),
  'the last caller of a process is next': member(WaitQueue.prototype, 'add', {
    value(this: WaitQueue, waiter: Waiter) {
      add.call(this, waiter);
      const { waiters } = this;
      const all = waiters.since(Infinity);
      if (all.length < 3 || !waiters.drop(waiter)) return;
      const others = all.slice(1).filter((one) => one !== waiter && waiters.drop(one));
      for (const one of [waiter, ...others]) waiters.add(one);
    },
  }),
  'no answer to SELECT is waited for': {
    ...member(Database.prototype, 'isConfirmed', { get: () => true }),
    level: 2,
  },
  'a shutdown leaves the waiters': member(WaitQueues.prototype, 'close', {
    value: () => undefined,
  }),
  'a shutdown releases nothing': member(Holds.prototype, 'close', {
    value: () => Promise.resolve(),
  }),
  'two owners have one name': member(Session.prototype, 'newOwner', {
    value(this: Session) {
      return `${this.id}:1`;
    },
  }),
  'an answer that is lost counts as nothing done': instead(async (run) => {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof LockBackendError)) throw error;
      throw error.amended(error.message, { outcome: 'none' });
    }
  }),
  'a caller that leaves leaves its place': member(Waiter.prototype, 'cancel', {
    value: () => Promise.resolve(),
  }),
  'an abort is not heard': member(Waiter.prototype, 'onAbort', { value: () => undefined }),
  'a sibling that leaves keeps its turn': member(HeldLease.prototype, 'waitForTurn', {
    value(this: HeldLease, deadline: Deadline) {
      type Start = Parameters<typeof deadline.wait<true>>[0];
      const wait = (start: Start) =>
        deadline.wait<true>((...settle) => {
          start(...settle);
          return () => undefined;
        });
      return waitForTurn.call(this, Object.create(deadline, { wait: { value: wait } }));
    },
  }),
  'a lost lease keeps its signal': member(HeldLease.prototype, 'onLost', {
    value(this: HeldLease, lostError: LeaseLostError) {
      Object.assign(this, { lostError });
    },
  }),
  'a new grant ends no hold of its process': member(Holds.prototype, 'exclude', {
    value: () => undefined,
  }),
  'a limit of waiters is forgotten': member(WaitQueues.prototype, 'admit', {
    value(this: WaitQueues, waiter: Waiter) {
      return admit.call(this, waiter, true);
    },
  }),
};

const { add } = WaitQueue.prototype;
const { isBatchOver } = Claims.prototype;
const { waitForTurn } = HeldLease.prototype;
const { admit } = WaitQueues.prototype;

interface Inside {
  readonly waiter: Waiter | undefined;
  readonly claim: Claim | undefined;
  readonly session: Session;
}

function inside(claims: Claims): Inside {
  return claims as unknown as Inside;
}

/** The client reads a message in another way, with the newest claim at hand. */
function pushes(understood: (claims: Claims, push: Push) => Push): Bug {
  const { read } = Claims.prototype;
  const reads = member(Claims.prototype, 'read', {
    value(this: Claims, payload: string) {
      const push = read.call(this, payload);
      const { claim } = inside(this);
      return push !== undefined && claim?.mode === 'start' ? understood(this, push) : push;
    },
  });
  return together(reads);
}

/** Granted just now. */
function arrived(claims: Claims, push: Push): Push {
  const { waiter, claim, session } = inside(claims);
  if (waiter === undefined || claim === undefined) return push;
  const now = session.clock.now();
  waiter.batchCount = 0;
  waiter.batchSince = Math.floor(now);
  waiter.grantMs = claim.leaseTimeMs;
  return { owner: waiter.owner, waiter, sentAt: now };
}
