import { queueKeys } from '../../libs/redis-lock/src/primitives/fair-lock/footprint.js';
import { queueKeys as claimKeys } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { readerLeaseKey } from '../../libs/redis-lock/src/primitives/read-write-lock/footprint.js';
import { leasesKey } from '../../libs/redis-lock/src/primitives/semaphore/footprint.js';
import type { SimulatedServer } from './simulated-server.js';

/** The hold of an owner, as a server stores it. */
export interface Held {
  readonly count: number;
  readonly leftMs: number;
}

/** How the holders of a primitive are read from a server. */
export interface State {
  readonly owners: (server: SimulatedServer, key: string) => readonly string[];
  readonly held: (server: SimulatedServer, key: string, owner: string) => Held | undefined;
}

export const HASH: State = {
  owners: (server, key) => [...(hashOf(server, key)?.keys() ?? [])],
  held: (server, key, owner) => {
    const count = hashOf(server, key)?.get(owner);
    return count === undefined ? undefined : { count: Number(count), leftMs: leftOf(server, key) };
  },
};

const WRITER = ':write';

/** Readers have leases of their own, one for each of their holds. */
export const READ_WRITE: State = {
  owners: (server, key) =>
    [...(hashOf(server, key)?.keys() ?? [])]
      .filter((field) => field !== 'mode')
      .map((field) => field.replace(WRITER, '')),
  held: (server, key, owner) => {
    const hash = hashOf(server, key);
    const written = hash?.get(`${owner}${WRITER}`);
    const leftMs = leftOf(server, key);
    if (written !== undefined) return { count: Number(written), leftMs };
    const count = Number(hash?.get(owner) ?? 0);
    const leases = Array.from({ length: count }, (_, i) =>
      leftOf(server, readerLeaseKey(key, owner, i + 1)),
    );
    const ownMs = Math.max(0, ...leases);
    return ownMs === 0 ? undefined : { count, leftMs: Math.min(leftMs, ownMs) };
  },
};

export const PERMITS: State = {
  owners: (server, key) =>
    (server.store.find(leasesKey(key), 'zset')?.sorted ?? [])
      .filter(([, end]) => end > server.clock.wall())
      .map(([member]) => Buffer.from(member, 'latin1').toString('hex')),
  held: (server, key, owner) => {
    const member = Buffer.from(owner, 'hex').toString('latin1');
    const end = server.store.find(leasesKey(key), 'zset')?.get(member);
    if (end === undefined) return undefined;
    return { count: 1, leftMs: end - server.clock.wall() };
  },
};

/**
 * The first of a fair queue, the time after which it is removed, if there is one, and whether its
 * record is missing.
 */
export function nextOf(server: SimulatedServer, key: string) {
  const { queue, timeouts, waiting } = queueKeys(key);
  const [owner] = server.store.find(queue, 'list') ?? [];
  const until = server.store.find(timeouts, 'zset')?.get(owner ?? '');
  const records = server.store.find(waiting, 'hash');
  return { owner, until, isForgotten: owner !== undefined && records?.has(owner) !== true };
}

/** Owners that Redis makes the next without a message: their processes had no subscription yet. */
export function unheardOf(server: SimulatedServer, key: string): string[] {
  const claims = (['lock', 'rwlock'] as const).map((kind) => claimKeys(key, kind).claims);
  return claims
    .flatMap((one) => [...(server.store.find(one, 'hash') ?? [])])
    .filter(([, claim]) => claim.endsWith(' p'))
    .map(([process, claim]) => `${process}:${claim.slice(0, claim.indexOf(' '))}`);
}

function hashOf(server: SimulatedServer, key: string) {
  return server.store.typeOf(key) === 'hash' ? server.store.find(key, 'hash') : undefined;
}

function leftOf(server: SimulatedServer, key: string): number {
  const end = server.store.endOf(key);
  return end === undefined ? 0 : end - server.clock.wall();
}
