import { LockStateError } from '../core/api/errors.js';
import type { AcquireAnswer, ReleaseAnswer } from '../core/holding/protocol.js';
import { LARGEST_COUNT } from '../core/api/options.js';
import * as capacity from '../primitives/semaphore/capacity.scripts.js';
import * as permitted from '../primitives/semaphore/permits.scripts.js';
import { answer, answerMany, type Answer, type Call } from './answers.js';
import { counted } from './count-answers.js';
import { Count, Value } from './in-process-server.js';

/** Permits in use, by the end of each lease. */
export class PermitLeases extends Value {
  readonly ends = new Map<string, number>();
}

/** The mark of a waiter for several permits at once: other callers leave enough for it. */
export class Mark extends Value {
  constructor(
    readonly waiter: string,
    readonly permits: number,
  ) {
    super();
  }
}

type Counting = Call<'counter' | 'leases'>;

function leasesOf({ server, leases }: Call<'leases'>): Map<string, number> {
  return server.findOr(leases, PermitLeases, () => new PermitLeases()).ends;
}

/** Whether the lease of this permit is over, or there is none. */
function isOver(call: Call<'leases'>, id: string): boolean {
  return (leasesOf(call).get(id) ?? 0) <= call.server.now;
}

function expiredOf(call: Call<'leases'>): string[] {
  return [...leasesOf(call).keys()].filter((id) => isOver(call, id));
}

/** The free permits; undefined before the number of permits is set. */
function freeOf({ server, counter }: Counting): number | undefined {
  return server.find(counter, Count)?.count;
}

function tell(call: Counting & Call<'channel'>): void {
  const free = freeOf(call) ?? 0;
  if (free > 0) call.server.publish(call.channel, String(free));
}

/** Sets the counter to this value, and creates it if there is none. */
function setFree({ server, counter }: Counting, free: number): void {
  server.findOr(counter, Count, () => new Count(0)).count = free;
}

function enter(
  call: Counting & Call<'waiting' | 'permits' | 'channel', 'leaseMs' | 'markMs' | 'ofAll'>,
): AcquireAnswer {
  const { server, waiting } = call;
  const { leaseMs, markMs, ofAll } = call.numbers;
  const ids = call.permits.split(',');
  const leases = leasesOf(call);
  const isNew = freeOf(call) === undefined && ofAll > 0;
  if (isNew) setFree(call, ofAll - leases.size);
  const counter = server.find(call.counter, Count);
  const missing = ids.filter((id) => isOver(call, id)).length;
  refuseTooMany(counter, leases.size, ids.length, missing);
  const expired = expiredOf(call);
  for (const id of expired) leases.delete(id);
  if (counter !== undefined) counter.count += expired.length;
  const mark = server.find(waiting, Mark);
  const isMine = mark?.waiter === ids[0];
  const reserved = isMine ? 0 : (mark?.permits ?? 0);
  const isEnough = counter !== undefined && counter.count - missing >= reserved;
  if (missing === 0 || isEnough) {
    for (const id of ids) leases.set(id, Math.max(server.now + leaseMs, leases.get(id) ?? 0));
    if (counter !== undefined) counter.count -= missing;
    if (isMine) server.delete(waiting);
    if (isMine || isNew || expired.length > 0) tell(call);
    return { kind: 'granted', fencingToken: undefined };
  }
  if (markMs > 0 && ids.length > 1 && (isMine || mark === undefined)) {
    server.put(waiting, new Mark(ids[0] ?? '', ids.length), markMs);
  }
  if (isNew || expired.length > 0) tell(call);
  const remainingMs = Math.min(...leases.values()) - server.now;
  return { kind: 'busy', remainingMs, ...(counter === undefined && { isUnset: true }) };
}

function refuseTooMany(
  counter: Count | undefined,
  used: number,
  wanted: number,
  missing: number,
): void {
  if (counter === undefined || missing <= counter.count || wanted <= counter.count + used) return;
  throw new LockStateError(
    `it has ${String(counter.count + used)} permits in all, and ${String(wanted)} were requested at once`,
  );
}

function leave(call: Counting & Call<'permits' | 'channel'>, hadMark = false): ReleaseAnswer {
  const ids = call.permits.split(',');
  const leases = leasesOf(call);
  const removed = ids.filter((id) => leases.delete(id)).length;
  const free = freeOf(call);
  if (free !== undefined) setFree(call, free + removed);
  if (removed > 0 || hadMark) tell(call);
  return removed < ids.length ? 'absent' : 'done';
}

/** Permits whose lease is over count as free; the next acquisition reuses them. */
const CAPACITY: readonly Answer[] = [
  answer(capacity.LOOK, undefined, (call) => {
    const free = freeOf(call);
    const used = leasesOf(call).size;
    const expired = expiredOf(call).length;
    const acquired = used - expired;
    if (free === undefined) return { available: 0, acquired, capacity: 0 };
    return { available: free + expired, acquired, capacity: free + used };
  }),
  answer(capacity.TRY_SET, undefined, (call) => {
    if (freeOf(call) !== undefined) return counted(0);
    setFree(call, call.numbers.permits - leasesOf(call).size);
    tell(call);
    return counted(1);
  }),
  answer(capacity.SET, undefined, (call) => {
    const former = freeOf(call) ?? 0;
    const free = call.numbers.permits - leasesOf(call).size;
    setFree(call, free);
    if (free > former) tell(call);
    return counted(1);
  }),
  answer(capacity.ADD, undefined, (call) => {
    const { permits } = call.numbers;
    const free = (freeOf(call) ?? 0) + permits;
    if (Math.abs(free + leasesOf(call).size) > LARGEST_COUNT) {
      throw new LockStateError('it would have more permits than a Java service can count');
    }
    setFree(call, free);
    if (permits > 0) tell(call);
    return counted(1);
  }),
  answer(capacity.RELEASE_PERMITS, 'release', (call) => {
    if (call.permits.split(',').some((id) => isOver(call, id))) return counted(0);
    leave(call);
    return counted(1);
  }),
  answer(capacity.RESTORE, undefined, (call) => {
    const leases = leasesOf(call);
    const absent = call.permits.split(',').filter((id) => !leases.has(id)).length;
    const free = freeOf(call) ?? call.numbers.capacity;
    const missing = Math.min(absent, call.numbers.capacity - free - leases.size);
    if (missing < 1) return counted(0);
    setFree(call, free + missing);
    tell(call);
    return counted(1);
  }),
  answer(capacity.UPDATE_LEASE, undefined, (call) => {
    if (isOver(call, call.permits)) return false;
    leasesOf(call).set(call.permits, call.server.now + call.numbers.leaseMs);
    return true;
  }),
  answer(capacity.LEASE_TIME, undefined, (call) =>
    Math.max(0, (leasesOf(call).get(call.permits) ?? 0) - call.server.now),
  ),
];

export const PERMIT_ANSWERS: readonly Answer[] = [
  ...CAPACITY,
  answer(permitted.ACQUIRE, 'acquire', enter),
  answer(permitted.RELEASE, 'release', (call) => leave(call)),
  answer(permitted.CANCEL, undefined, (call) => {
    const isMine = call.server.find(call.waiting, Mark)?.waiter === call.permits.split(',')[0];
    if (isMine) call.server.delete(call.waiting);
    return leave(call, isMine);
  }),
  answerMany(permitted.RENEW, 'renew', (server, keys, args) =>
    keys.map((key, i) => {
      const ids = String(args[2 * i]).split(',');
      const leases = leasesOf({ server, leases: key, numbers: {} });
      if (!ids.every((id) => leases.has(id))) return false;
      const until = server.now + Number(args[2 * i + 1]);
      for (const id of ids) leases.set(id, Math.max(until, leases.get(id) ?? 0));
      return true;
    }),
  ),
];
