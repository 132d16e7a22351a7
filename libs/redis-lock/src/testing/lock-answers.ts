import { TAKE_TOKEN } from '../core/lua/acquire-alone.js';
import {
  ACQUIRE,
  ACQUIRE_NESTED,
  INSPECT,
  RELEASE as RELEASE_ALONE,
  RELEASE_SOME,
  RENEW,
} from '../core/lua/hash-lock.js';
import type { AcquireAnswer, ReleaseAnswer } from '../core/holding/protocol.js';
import { PING } from '../core/monitor.js';
import { GIVE_BACK, IDENTIFY, RAISE_TOKEN } from '../primitives/red-lock/red-lock.scripts.js';
import {
  ACQUIRE_OR_QUEUE,
  RELEASE,
  RELEASE_LATER,
  PASS,
  PASS_IN_ORDER,
  CANCEL,
} from '../primitives/lock/lock.scripts.js';
import { answer, answerMany, answerPair, type Answer, type TokenOf } from './answers.js';
import { Count, Value, type InProcessServer } from './in-process-server.js';

/** A value that one owner may hold exclusively, by a field of its own. */
export abstract class Held extends Value {
  abstract holdCount: number;

  abstract isHeldBy(field: string): boolean;
}

/** A lock, fair or not. */
export class HeldLock extends Held {
  constructor(
    public owner: string,
    public holdCount: number,
  ) {
    super();
  }

  isHeldBy(field: string): boolean {
    return field === this.owner;
  }
}

export interface Entry {
  readonly lock: string;
  readonly owner: string;
  /** Undefined: once, unless it is more already. */
  readonly holdCount: number | undefined;
  readonly leaseMs: number;
}

/** A number that rises with every grant, as long as wall time is not set back by years. */
export function tokenFor(
  server: InProcessServer,
  token: TokenOf | undefined,
  isNew: boolean,
): number | undefined {
  if (token === undefined) return undefined;
  const last = server.findOr(token.token, Count, () => new Count(0));
  if (isNew || last.count === 0) last.count = Math.max(last.count + 1, server.wallUs);
  last.endsAt = server.now + (token.tokenTtlMs || Infinity);
  return last.count;
}

export function granted(fencingToken?: number): AcquireAnswer {
  return { kind: 'granted', fencingToken };
}

export function enter(server: InProcessServer, entry: Entry, token?: TokenOf): AcquireAnswer {
  const { lock, owner, leaseMs } = entry;
  const held = server.find(lock, HeldLock);
  const isOurs = held?.owner === owner;
  const holdCount = entry.holdCount ?? Math.max(1, isOurs ? held.holdCount : 0);
  if (!isOurs && holdCount > 1) return { kind: 'lost' };
  if (held === undefined) server.put(lock, new HeldLock(owner, holdCount), leaseMs);
  else if (!isOurs) return { kind: 'busy', remainingMs: server.leftOf(held) };
  const isNew = held?.holdCount !== holdCount;
  if (held !== undefined) {
    held.holdCount = holdCount;
    server.prolong(held, leaseMs);
  }
  return granted(tokenFor(server, token, isNew));
}

/** The exclusive hold of this field, if there is one. */
function heldIn(server: InProcessServer, lock: string, field: string): Held | undefined {
  const held = server.peek(lock);
  return held instanceof Held && held.isHeldBy(field) ? held : undefined;
}

/** The hold of this owner, if there is one. */
export function heldBy(server: InProcessServer, lock: string, owner: string): HeldLock | undefined {
  const held = server.find(lock, HeldLock);
  return held?.owner === owner ? held : undefined;
}

/** The next owner. With `starts` it gets one hold. */
export interface Passing {
  readonly owner: string;
  readonly successor: string;
  readonly leaseMs: number;
  readonly starts: number;
}

/** @returns undefined if the owner held it, and holds it no more */
function leave(
  server: InProcessServer,
  lock: string,
  { owner, channel }: { owner: string; channel: string },
): ReleaseAnswer {
  if (heldBy(server, lock, owner) === undefined) return 'absent';
  server.delete(lock);
  server.publish(channel, '0');
  return 'done';
}

function passOn(
  server: InProcessServer,
  lock: string,
  { owner, successor, leaseMs, starts }: Passing,
): ReleaseAnswer {
  if (heldBy(server, lock, owner) === undefined) {
    return heldBy(server, lock, successor) === undefined ? 'absent' : 'had';
  }
  server.put(lock, new HeldLock(successor, starts), leaseMs);
  return 'passed';
}

/** Waiters of other clients queue nowhere: they get a wake-up when it is free. */
const REENTRANT: readonly Answer[] = [
  ...answerPair(
    ACQUIRE_OR_QUEUE,
    (server, { keys: { lock }, texts: { owner }, numbers: { leaseMs } }, token) =>
      enter(server, { lock, owner, holdCount: undefined, leaseMs }, token),
  ),
  answer(RELEASE_LATER, 'release', (server, { keys: { lock }, texts, numbers: { keepMs } }) => {
    const held = heldBy(server, lock, texts.owner);
    if (held === undefined) return 'absent';
    server.put(lock, held, keepMs);
    server.publish(texts.channel, '0');
    return 'done';
  }),
  answer(RELEASE, 'release', (server, { keys, texts }) => leave(server, keys.lock, texts)),
  answer(PASS, 'release', (server, { keys, texts, numbers: { leaseMs, starts } }) =>
    passOn(server, keys.lock, { ...texts, leaseMs, starts }),
  ),
  answer(PASS_IN_ORDER, 'release', (server, { keys, texts, numbers: { leaseMs, starts } }) =>
    passOn(server, keys.lock, { ...texts, leaseMs, starts }),
  ),
  answer(CANCEL, undefined, (server, { keys: { lock }, texts }) =>
    server.peek(lock) instanceof HeldLock ? leave(server, lock, texts) : 'absent',
  ),
];

/** The answers for all locks that are a hash with their owner. */
const HASHES: readonly Answer[] = [
  ...answerPair(ACQUIRE, (server, { keys: { lock }, texts: { owner }, numbers }, token) =>
    enter(server, { lock, owner, holdCount: 1, leaseMs: numbers.leaseMs }, token),
  ),
  ...answerPair(ACQUIRE_NESTED, (server, { keys: { lock }, texts, numbers }, token) => {
    const held = heldIn(server, lock, texts.owner);
    if (held === undefined) return { kind: 'lost' };
    const { holdCount, leaseMs } = numbers;
    const isNew = held.holdCount !== holdCount;
    held.holdCount = holdCount;
    server.prolong(held, leaseMs);
    return granted(tokenFor(server, token, isNew));
  }),
  answer(TAKE_TOKEN, 'acquire', (server, { keys: { token }, numbers: { tokenTtlMs } }) =>
    granted(tokenFor(server, { token, tokenTtlMs }, true)),
  ),
  answer(RELEASE_ALONE, 'release', (server, { keys, texts }) => leave(server, keys.lock, texts)),
  answer(RELEASE_SOME, 'release', (server, { keys: { lock }, texts, numbers: { holdCount } }) => {
    const held = heldIn(server, lock, texts.owner);
    if (held === undefined) return 'absent';
    held.holdCount = Math.min(held.holdCount, holdCount);
    return 'done';
  }),
  answerMany(RENEW, 'renew', (server, keys, args) =>
    keys.map((key, i) => {
      const held = heldIn(server, key, String(args[i]));
      if (held === undefined) return false;
      server.prolong(held, Number(args[keys.length + i] ?? args[keys.length]));
      return true;
    }),
  ),
  answer(INSPECT, undefined, (server, { keys: { lock } }) => {
    const held = server.find(lock, HeldLock);
    if (held === undefined) return { remainingMs: 0, owners: [] };
    return { remainingMs: server.leftOf(held), owners: [held.owner] };
  }),
];

const NODES: readonly Answer[] = [
  answer(PING, undefined, (): 1 => 1),
  answerMany(IDENTIFY, undefined, ({ id }) => ({
    runId: id,
    uptimeMs: Infinity,
    isMaster: true,
    isCluster: false,
  })),
  answer(GIVE_BACK, undefined, (server, { keys: { lock }, texts: { owner } }) => {
    if (heldBy(server, lock, owner) === undefined) return 0;
    return Number(server.delete(lock));
  }),
  answer(
    RAISE_TOKEN,
    undefined,
    (server, { keys: { token }, numbers: { fence, tokenTtlMs } }): true => {
      const last = server.findOr(token, Count, () => new Count(0));
      last.count = Math.max(last.count, fence);
      last.endsAt = server.now + (tokenTtlMs || Infinity);
      return true;
    },
  ),
];

export const LOCK_ANSWERS: readonly Answer[] = [...REENTRANT, ...HASHES, ...NODES];
