import { beforeEach } from '@jest/globals';
import { RELEASE_SOME } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import { writtenClaim } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import type { Claim } from '../../libs/redis-lock/src/core/holding/protocol.js';
import type { QueueKindUnderTest } from './queue-kinds.js';
import { serverNow } from './moments.js';
import { QueueView, ownerOf, processOf, useListeners } from './queue-view.js';
import { useRedis } from './redis-server.js';

/** The specs of the scripts of a lock that is handed on call, write and expect these. */

export const LEASE_MS = 30_000;
/** A grant by a claim lasts for `CLAIM_MS`; a process that claims counts as waiting for `ALIVE_MS`. */
export const CLAIM_MS = 5_000;
export const ALIVE_MS = 8_000;
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

export const granted = { kind: 'granted', fencingToken: undefined };
export const busy = { kind: 'busy' };
export const FREE = { lock: {}, leaseS: 0, queue: [], claims: {}, isReserved: false };
export const heldBy = (owner: string, count = 1, leaseS = LEASE_MS / 1_000) => ({
  ...FREE,
  ...{ lock: { [owner]: String(count) }, leaseS },
});
/** Handed over, for as long as its claim says. */
export const handedTo = (owner: string, count = 1) => heldBy(owner, count, CLAIM_MS / 1_000);

export interface Queued {
  readonly queue: string[];
  readonly claims: Record<string, string>;
}
/** How these owners stand in the queue, as it is looked at. */
export const standing = (...owners: string[]): Queued => ({
  queue: owners.map((owner) => owner.charAt(0)),
  claims: Object.fromEntries(owners.map((owner) => [owner.charAt(0), seen(owner)])),
});
/** A claim, as it is looked at, next to its process. */
export const seen = (owner: string, aliveS = ALIVE_MS / 1_000) =>
  `${owner.slice(1)} ${String(aliveS)} ${nonceOf(owner)} ${String(CLAIM_MS)} s`;
/** The claim of the owner B2 has the nonce b2. */
const nonceOf = (owner: string) => owner.toLowerCase();
export const claimOf = (owner: string, mode: Claim['mode'] = 'start', past = 0, ended = 0) =>
  writtenClaim({
    aliveMs: ALIVE_MS,
    nonce: nonceOf(owner),
    leaseTimeMs: CLAIM_MS,
    mode,
    past,
    ended,
  });

export const claimArgs = (owner: string, leaseMs = LEASE_MS) => ({
  ...{ owner: ownerOf(owner), leaseMs, claim: claimOf(owner), tokenTtlMs: WEEK_MS },
});
export const leaveArgs = { due: 0 };
export const passArgs = { leaseMs: LEASE_MS, starts: 1 };
export const passInOrderArgs = { ...passArgs, due: 0 };

interface Claiming {
  readonly sinceMs?: number;
  readonly aliveMs?: number;
  readonly mode?: Claim['mode'];
  readonly record?: string;
}

/** The lock `k` on a server of its own; its owners and processes are those of `QueueView`. */
export function useQueueScripts(kind: QueueKindUnderTest, redis = useRedis()) {
  const ear = useListeners(redis, 'k', kind);
  const view = new QueueView(redis, 'k', kind);
  let order = 0;
  beforeEach(() => {
    view.foreign.clear();
    order = 0;
  });

  const claim = (owner: string, leaseMs?: number) =>
    view.run(kind.claim, claimArgs(owner, leaseMs));
  const claimFenced = async (owner: string) => {
    const answer = await view.run(kind.claimFenced, claimArgs(owner));
    return answer.kind === 'granted' ? (answer.fencingToken ?? 0) : answer;
  };
  const enter = (owner: string) =>
    view.run(kind.enter, { owner: ownerOf(owner), leaseMs: LEASE_MS });
  const leave = (owner: string, args: Partial<typeof leaveArgs> = {}) =>
    view.run(kind.leave, { owner: ownerOf(owner), ...leaveArgs, ...args });
  const leaveSome = (owner: string, holdCount: number) =>
    view.run(RELEASE_SOME, { owner: kind.fieldOf(ownerOf(owner)), holdCount });
  const pass = (owner: string, successor: string, args: Partial<typeof passArgs> = {}) =>
    view.run(kind.pass, {
      owner: ownerOf(owner),
      successor: ownerOf(successor),
      ...passArgs,
      ...args,
    });
  const passInOrder = (
    owner: string,
    successor: string,
    args: Partial<typeof passInOrderArgs> = {},
  ) =>
    view.run(kind.passInOrder, {
      ...{ owner: ownerOf(owner), successor: ownerOf(successor), claim: claimOf(successor) },
      ...{ ...passInOrderArgs, ...args },
    });
  const cancel = (owner: string, due = 0) => view.run(kind.cancel, { owner: ownerOf(owner), due });

  const endLater = (...keys: string[]) =>
    Promise.all(keys.map((key) => redis.admin.pexpire(view.keys[key] ?? '', ALIVE_MS)));

  /** Puts a claim into the queue as it would be after `sinceMs`, without a script. */
  const stand = async (
    owner: string,
    { sinceMs = 0, aliveMs = ALIVE_MS, mode = 'start', record = '' }: Claiming = {},
  ) => {
    const { queue = '', claims = '' } = view.keys;
    const now = await serverNow(redis.admin);
    const process = processOf(owner.charAt(0));
    const terms = `${nonceOf(owner)} ${String(CLAIM_MS)} ${mode.charAt(0)}`;
    const written = record || `${owner.slice(1)} ${String(now + aliveMs)} ${terms}`;
    await Promise.all([
      redis.admin.zadd(queue, (now - sinceMs) * 1_000 + order++, process),
      redis.admin.hset(claims, process, written),
      endLater('queue', 'claims'),
    ]);
  };
  /** Claims of processes that are gone: their time is over. */
  const standDead = async (count: number) => {
    const { queue = '', claims = '' } = view.keys;
    const dead = Array.from({ length: count }, (_, i) => `dead-${String(i)}`);
    await redis.admin.zadd(queue, ...dead.flatMap((process) => [order++, process]));
    const records = dead.map((process) => [process, `1 1 dd ${String(CLAIM_MS)} s`]);
    await redis.admin.hset(claims, Object.fromEntries(records) as Record<string, string>);
    await endLater('queue', 'claims');
  };
  const hold = (owner: string, count: number) => view.hold(owner, count, LEASE_MS);

  return {
    ...{ redis, ear, view, look: () => view.look() },
    ...{ claim, claimFenced, enter, leave, leaveSome, pass, passInOrder, cancel },
    ...{ stand, standDead, hold },
  };
}
