import { LockStateError } from '../core/api/errors.js';
import type { AcquireAnswer, ReleaseAnswer } from '../core/holding/protocol.js';
import { LARGEST_COUNT } from '../core/api/options.js';
import type { Counted } from '../core/once-only.js';
import {
  ADD,
  LEASE_TIME,
  LOOK,
  RELEASE_PERMITS,
  SET,
  TRY_SET,
  UPDATE_LEASE,
} from '../primitives/semaphore/capacity.scripts.js';
import { END, ACQUIRE, RELEASE, RENEW, CANCEL } from '../primitives/semaphore/permits.scripts.js';
import { answer, answerMany, type Answer, type Call } from './answers.js';
import { Count, Value, type InProcessServer } from './in-process-server.js';

/** Permits in use, by the end of each lease. */
export class PermitLeases extends Value {
  readonly ends = new Map<string, number>();
}

/** The mark of a waiter for several permits at once: other callers leave enough for it. */
class Mark extends Value {
  constructor(
    readonly waiter: string,
    readonly permits: number,
  ) {
    super();
  }
}

interface Keys {
  readonly counter: string;
  readonly leases: string;
}

const CHANGED: Counted = { count: 1, isAnnounced: true };
const UNCHANGED: Counted = { count: 0, isAnnounced: true };

function leasesOf(server: InProcessServer, { leases }: Pick<Keys, 'leases'>): Map<string, number> {
  return server.findOr(leases, PermitLeases, () => new PermitLeases()).ends;
}

function expiredOf(server: InProcessServer, leases: ReadonlyMap<string, number>): string[] {
  return [...leases].flatMap(([id, end]) => (end <= server.now ? [id] : []));
}

function tell(server: InProcessServer, channel: string, free: number | undefined): void {
  if (free !== undefined && free > 0) server.publish(channel, String(free));
}

/** Sets the counter, and creates it if there is none. */
function setFree(server: InProcessServer, { counter }: Keys, free: number): void {
  server.findOr(counter, Count, () => new Count(0)).count = free;
}

type Wish = Omit<Call<never, 'permits' | 'leaseMs' | 'markMs' | 'channel'>, 'keys'>;

function enter(
  server: InProcessServer,
  keys: Keys & { readonly waiting: string },
  { texts, numbers: { leaseMs, markMs } }: Wish,
): AcquireAnswer {
  const ids = texts.permits.split(',');
  const counter = server.find(keys.counter, Count);
  const leases = leasesOf(server, keys);
  const missing = ids.filter((id) => (leases.get(id) ?? 0) <= server.now).length;
  refuseTooMany(counter, leases.size, ids.length, missing);
  const expired = expiredOf(server, leases);
  for (const id of expired) leases.delete(id);
  if (counter !== undefined) counter.count += expired.length;
  const mark = server.find(keys.waiting, Mark);
  const isMine = mark?.waiter === ids[0];
  const reserved = isMine ? 0 : (mark?.permits ?? 0);
  const isEnough = counter !== undefined && counter.count - missing >= reserved;
  if (missing === 0 || isEnough) {
    for (const id of ids) leases.set(id, Math.max(server.now + leaseMs, leases.get(id) ?? 0));
    if (counter !== undefined) counter.count -= missing;
    if (isMine) server.delete(keys.waiting);
    if (isMine || expired.length > 0) tell(server, texts.channel, counter?.count);
    return { kind: 'granted', fencingToken: undefined };
  }
  if (markMs > 0 && ids.length > 1 && (isMine || mark === undefined)) {
    server.put(keys.waiting, new Mark(ids[0] ?? '', ids.length), markMs);
  }
  if (expired.length > 0) tell(server, texts.channel, counter?.count);
  return { kind: 'busy', remainingMs: Math.min(...leases.values()) - server.now };
}

function refuseTooMany(
  counter: Count | undefined,
  used: number,
  wanted: number,
  missing: number,
): void {
  if (counter === undefined || missing <= counter.count || wanted <= counter.count + used) return;
  throw new LockStateError(
    `it has ${String(counter.count + used)} permits in all, and ${String(wanted)} were asked for at once`,
  );
}

/** @returns how many of them there were */
function remove(server: InProcessServer, keys: Keys, ids: readonly string[]): number {
  const leases = leasesOf(server, keys);
  const removed = ids.filter((id) => leases.delete(id)).length;
  const counter = server.find(keys.counter, Count);
  if (counter !== undefined) counter.count += removed;
  return removed;
}

function leave(
  server: InProcessServer,
  keys: Keys,
  { permits, channel }: { readonly permits: string; readonly channel: string },
  hadMark: boolean,
): ReleaseAnswer {
  const ids = permits.split(',');
  const removed = remove(server, keys, ids);
  if (removed > 0 || hadMark) tell(server, channel, server.find(keys.counter, Count)?.count);
  return removed < ids.length ? 'absent' : 'done';
}

/** Permits whose lease is over count as free; the next acquire takes them back. */
const CAPACITY: readonly Answer[] = [
  answer(LOOK, undefined, (server, { keys }) => {
    const free = server.find(keys.counter, Count)?.count;
    const leases = leasesOf(server, keys);
    const expired = expiredOf(server, leases).length;
    const acquired = leases.size - expired;
    if (free === undefined) return { available: 0, acquired, capacity: 0 };
    return { available: free + expired, acquired, capacity: free + leases.size };
  }),
  answer(TRY_SET, undefined, (server, { keys, texts, numbers: { permits } }) => {
    if (server.find(keys.counter, Count) !== undefined) return UNCHANGED;
    const free = permits - leasesOf(server, keys).size;
    setFree(server, keys, free);
    tell(server, texts.channel, free);
    return CHANGED;
  }),
  answer(SET, undefined, (server, { keys, texts, numbers: { permits } }) => {
    const former = server.find(keys.counter, Count)?.count ?? 0;
    const free = permits - leasesOf(server, keys).size;
    setFree(server, keys, free);
    if (free > former) tell(server, texts.channel, free);
    return CHANGED;
  }),
  answer(ADD, undefined, (server, { keys, texts, numbers: { permits } }) => {
    const free = (server.find(keys.counter, Count)?.count ?? 0) + permits;
    if (Math.abs(free + leasesOf(server, keys).size) > LARGEST_COUNT) {
      throw new LockStateError('it would have more permits than a Java service can count');
    }
    setFree(server, keys, free);
    if (permits > 0) tell(server, texts.channel, free);
    return CHANGED;
  }),
  answer(RELEASE_PERMITS, 'release', (server, { keys, texts }) => {
    const ids = texts.permits.split(',');
    const leases = leasesOf(server, keys);
    if (ids.some((id) => (leases.get(id) ?? 0) <= server.now)) return UNCHANGED;
    remove(server, keys, ids);
    tell(server, texts.channel, server.find(keys.counter, Count)?.count);
    return CHANGED;
  }),
  answer(UPDATE_LEASE, undefined, (server, { keys, texts, numbers: { leaseMs } }) => {
    const leases = leasesOf(server, keys);
    if ((leases.get(texts.permits) ?? 0) <= server.now) return false;
    leases.set(texts.permits, server.now + leaseMs);
    return true;
  }),
  answer(LEASE_TIME, undefined, (server, { keys, texts }) =>
    Math.max(0, (leasesOf(server, keys).get(texts.permits) ?? 0) - server.now),
  ),
];

export const PERMIT_ANSWERS: readonly Answer[] = [
  ...CAPACITY,
  answer(ACQUIRE, 'acquire', (server, { keys, ...wish }) => enter(server, keys, wish)),
  answer(RELEASE, 'release', (server, { keys, texts }) => leave(server, keys, texts, false)),
  // This server has no moving slot: END is never asked for.
  answer(END, 'release', (server, { keys, texts }) => {
    const leases = leasesOf(server, keys);
    const held = texts.permits.split(',').filter((id) => (leases.get(id) ?? 0) > server.now);
    for (const id of held) leases.set(id, server.now);
    if (held.length > 0) tell(server, texts.channel, held.length);
    return held.length * 33 < texts.permits.length ? 'absent' : 'done';
  }),
  answer(CANCEL, undefined, (server, { keys, texts }) => {
    const isMine = server.find(keys.waiting, Mark)?.waiter === texts.permits.split(',')[0];
    if (isMine) server.delete(keys.waiting);
    return leave(server, keys, texts, isMine);
  }),
  answerMany(RENEW, 'renew', (server, keys, args) =>
    keys.map((key, i) => {
      const ids = String(args[2 * i]).split(',');
      const leases = leasesOf(server, { leases: key });
      if (!ids.every((id) => leases.has(id))) return false;
      const until = server.now + Number(args[2 * i + 1]);
      for (const id of ids) leases.set(id, Math.max(until, leases.get(id) ?? 0));
      return true;
    }),
  ),
];
