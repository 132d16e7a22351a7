import * as hash from '../primitives/lua/hash-lock.js';
import type { AcquireAnswer, Holder, ReleaseAnswer } from '../core/holding/protocol.js';
import { PING } from '../primitives/monitor/lock-monitor.js';
import { GIVE_BACK, IDENTIFY, RAISE_TOKEN } from '../primitives/red-lock/red-lock.scripts.js';
import * as plain from '../primitives/lock/lock.scripts.js';
import { answer, answerMany, answerPair } from './answers.js';
import type { Answer, Call, MaybeFenced } from './answers.js';
import { Count, Value, type InProcessServer } from './in-process-server.js';

/** A lock that one owner holds exclusively, by a field of its own. */
export class Held extends Value {
  constructor(
    public owner: string,
    public holdCount: number,
  ) {
    super();
  }
}

/** A lock, fair or not. */
export class HeldLock extends Held {}

function tokenAt({ server, token = '', numbers: { tokenTtlMs = 0 } }: MaybeFenced): Count {
  const last = server.findOr(token, Count, () => new Count(0));
  last.endsAt = server.now + (tokenTtlMs || Infinity);
  return last;
}

/** A number that grows with every grant, unless wall time is set back by years. */
function tokenFor(call: MaybeFenced, isNew: boolean): number | undefined {
  if (call.token === undefined) return undefined;
  const last = tokenAt(call);
  if (isNew || last.count === 0) last.count = Math.max(last.count + 1, call.server.wallUs);
  return last.count;
}

type Granting = Call<'lock' | 'owner', 'leaseMs'> & MaybeFenced;

/** Gives the owner this hold count, and at least its lease; `make` is for a new holder. */
export function grant(
  call: Granting,
  held: Held | undefined,
  holdCount: number,
  make: () => Held = () => new HeldLock(call.owner, holdCount),
): AcquireAnswer {
  const { server, lock, numbers } = call;
  const fencingToken = tokenFor(call, held?.holdCount !== holdCount);
  if (held === undefined) server.put(lock, make(), numbers.leaseMs);
  else {
    held.holdCount = holdCount;
    server.prolong(held, numbers.leaseMs);
  }
  return { kind: 'granted', fencingToken };
}

/** @param holdCount 1, unless it is more already */
export function enter(call: Granting, holdCount?: number): AcquireAnswer {
  const { server, lock, owner } = call;
  const held = server.find(lock, HeldLock);
  if (held !== undefined && held.owner !== owner) {
    return { kind: 'busy', remainingMs: server.leftOf(held) };
  }
  return grant(call, held, holdCount ?? Math.max(1, held?.holdCount ?? 0));
}

function holderOf({ owner, holdCount }: Held): Holder {
  return { owner, holdCount };
}

/** The exclusive hold of this field, if there is one. */
function heldIn(server: InProcessServer, lock: string, field: string): Held | undefined {
  const held = server.peek(lock);
  return held instanceof Held && held.owner === field ? held : undefined;
}

/** Whether this owner holds it. */
export function isHeldBy({ server, lock }: Call<'lock'>, owner: string): boolean {
  return server.find(lock, HeldLock)?.owner === owner;
}

/** The next owner; when it begins, it has one hold. */
export type Passing = Call<'lock' | 'owner' | 'successor', 'leaseMs' | 'starts'>;

function leave({ server, lock, owner, channel }: Call<'lock' | 'owner' | 'channel'>, keepMs = 0) {
  const held = server.find(lock, HeldLock);
  if (held?.owner !== owner) return 'absent';
  if (keepMs > 0) server.put(lock, held, keepMs);
  else server.delete(lock);
  server.publish(channel, '0');
  return 'done';
}

function passOn(call: Passing): ReleaseAnswer {
  const { server, lock, owner, successor, numbers } = call;
  if (!isHeldBy(call, owner)) return isHeldBy(call, successor) ? 'had' : 'absent';
  server.put(lock, new HeldLock(successor, numbers.starts), numbers.leaseMs);
  return 'passed';
}

/** Waiters of other clients have no queue: they get a message when the lock is free. */
const REENTRANT: readonly Answer[] = [
  ...answerPair(plain.ACQUIRE_OR_QUEUE, (call) => enter(call)),
  answer(plain.RELEASE_LATER, 'release', (call) => leave(call, call.numbers.keepMs)),
  answer(plain.RELEASE, 'release', (call) => leave(call)),
  answer(plain.PASS, 'release', passOn),
  answer(plain.PASS_IN_ORDER, 'release', passOn),
  answer(plain.CANCEL, undefined, (call) =>
    call.server.peek(call.lock) instanceof HeldLock ? leave(call) : 'absent',
  ),
];

/** The answers for all locks that are a hash with their owner. */
const HASHES: readonly Answer[] = [
  ...answerPair(hash.ACQUIRE, (call) => enter(call, 1)),
  ...answerPair(hash.ACQUIRE_NESTED, (call) => {
    const held = heldIn(call.server, call.lock, call.owner);
    return held === undefined ? { kind: 'lost' } : grant(call, held, call.numbers.holdCount);
  }),
  answer(hash.RELEASE, 'release', (call) => leave(call)),
  answer(hash.RELEASE_SOME, 'release', ({ server, lock, owner, numbers: { holdCount } }) => {
    const held = heldIn(server, lock, owner);
    if (held === undefined) return 'absent';
    held.holdCount = Math.min(held.holdCount, holdCount);
    return 'done';
  }),
  answerMany(hash.RENEW, 'renew', (server, keys, args) =>
    keys.map((key, i) => {
      const held = heldIn(server, key, String(args[i]));
      if (held === undefined) return false;
      server.prolong(held, Number(args[keys.length + i] ?? args[keys.length]));
      return true;
    }),
  ),
  answer(hash.INSPECT, undefined, ({ server, lock }) => {
    const held = server.find(lock, HeldLock);
    if (held === undefined) return { remainingMs: 0, holders: [] };
    return { remainingMs: server.leftOf(held), holders: [holderOf(held)] };
  }),
];

const NODES: readonly Answer[] = [
  answer(PING, undefined, (): 1 => 1),
  answerMany(IDENTIFY, undefined, ({ id }) => ({
    ...{ runId: id, uptimeMs: Infinity, isMaster: true, isCluster: false },
  })),
  answer(GIVE_BACK, undefined, (call) =>
    Number(isHeldBy(call, call.owner) && call.server.delete(call.lock)),
  ),
  answer(RAISE_TOKEN, undefined, (call): true => {
    const last = tokenAt(call);
    last.count = Math.max(last.count, call.numbers.fence);
    return true;
  }),
];

export const LOCK_ANSWERS: readonly Answer[] = [...REENTRANT, ...HASHES, ...NODES];
