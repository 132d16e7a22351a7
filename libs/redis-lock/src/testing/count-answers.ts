import { LockStateError } from '../core/api/errors.js';
import type { AcquireAnswer } from '../core/holding/protocol.js';
import { LARGEST_COUNT } from '../core/api/options.js';
import { FORGET, type Counted } from '../primitives/lua/once-only.js';
import { HIT, type Hit } from '../integrations/throttler/hits.scripts.js';
import * as latches from '../primitives/count-down-latch/latch.scripts.js';
import { GUARDED_WRITE } from '../primitives/fencing-guard/fencing-guard.scripts.js';
import * as counting from '../primitives/counting-semaphore/counting-semaphore.scripts.js';
import { answer, answerMany, type Answer, type Call } from './answers.js';
import { Count, Value } from './in-process-server.js';

/**
 * No request arrives twice here. So the only marker needed is that of a step that may be undone.
 */
export function counted(count: number): Counted {
  return { count, isAnnounced: true };
}

function tell({ server, channel }: Call<'channel'>, free: number): void {
  if (free >= 1 && free <= LARGEST_COUNT) server.publish(channel, String(free));
}

const COUNTING: readonly Answer[] = [
  answer(counting.TRY_SET_PERMITS, undefined, (call) => {
    const { server, counter, numbers } = call;
    const { permits, ttlMs } = numbers;
    if (server.find(counter, Count) !== undefined) return counted(0);
    server.put(counter, new Count(permits), ttlMs === 0 ? Infinity : ttlMs);
    tell(call, permits);
    return counted(1);
  }),
  answer(counting.ACQUIRE, 'acquire', (call): AcquireAnswer => {
    const { server, counter, marker } = call;
    const { permits, markerTtlMs, ofAll } = call.numbers;
    const isNew = server.find(counter, Count) === undefined && ofAll > 0;
    if (isNew) server.put(counter, new Count(ofAll));
    const free = server.find(counter, Count);
    if (free === undefined) return { kind: 'busy', remainingMs: Infinity, isUnset: true };
    const isEnough = free.count >= permits;
    if (isEnough) {
      free.count -= permits;
      server.put(marker, new Count(permits), markerTtlMs);
    }
    if (isNew) tell(call, free.count);
    if (!isEnough) return { kind: 'busy', remainingMs: Infinity };
    return { kind: 'granted', fencingToken: undefined };
  }),
  answer(counting.CANCEL, undefined, (call) => {
    const { server, counter, marker } = call;
    const taken = server.find(marker, Count);
    const free = server.find(counter, Count);
    server.delete(marker);
    if (taken === undefined || free === undefined) return counted(0);
    free.count += taken.count;
    tell(call, free.count);
    return counted(taken.count);
  }),
  answer(counting.CHANGE, 'release', (call) => {
    const { server, counter, numbers } = call;
    const { more, fewer, onlyIfExists } = numbers;
    const free = server.find(counter, Count);
    if (free === undefined && onlyIfExists === 1) return counted(0);
    const changed = (free?.count ?? 0) + more - fewer;
    if (Math.abs(changed) > LARGEST_COUNT) {
      throw new LockStateError(`it would count beyond ${String(LARGEST_COUNT)} permits`);
    }
    (free ?? server.put(counter, new Count(0))).count = changed;
    if (more > fewer) tell(call, changed);
    return counted(1);
  }),
  answer(counting.DRAIN, 'acquire', ({ server, counter }) => {
    const free = server.find(counter, Count);
    const drained = free?.count ?? 0;
    if (free !== undefined) free.count = 0;
    return counted(drained);
  }),
  answer(
    counting.AVAILABLE,
    undefined,
    ({ server, counter }) => server.find(counter, Count)?.count ?? 0,
  ),
];

function open({ server, latch, channel }: Call<'latch' | 'channel'>): void {
  server.delete(latch);
  server.publish(channel, '0');
}

const LATCH: readonly Answer[] = [
  answer(latches.TRY_SET_COUNT, undefined, ({ server, latch, channel, numbers }) => {
    if (server.find(latch, Count) !== undefined) return counted(0);
    server.put(latch, new Count(numbers.count));
    server.publish(channel, '1');
    return counted(1);
  }),
  answer(latches.COUNT_DOWN, 'release', (call) => {
    const left = call.server.find(call.latch, Count);
    if (left === undefined) return counted(0);
    left.count -= 1;
    if (left.count > 0) return counted(left.count);
    open(call);
    return counted(0);
  }),
  answer(
    latches.GET_COUNT,
    undefined,
    ({ server, latch }) => server.find(latch, Count)?.count ?? 0,
  ),
  answer(latches.DELETE, undefined, (call) => {
    if (call.server.find(call.latch, Count) === undefined) return counted(0);
    open(call);
    return counted(1);
  }),
];

/** The requests of one visitor that still count, with the end of each. */
class Hits extends Value {
  readonly ends = new Map<string, number>();
  windowEndsAt = 0;
  blockEndsAt = 0;

  forget(now: number, isServed: boolean): void {
    for (const [request, end] of this.ends) {
      if (isServed || end <= now) this.ends.delete(request);
    }
  }
}

function hit({ server, ...call }: Call<'hits' | 'request', 'ttlMs' | 'limit' | 'blockMs'>): Hit {
  const { ttlMs, limit, blockMs } = call.numbers;
  const { now } = server;
  const hits = server.findOr(call.hits, Hits, () => new Hits());
  const isBlocked = blockMs > 0 && hits.blockEndsAt > now;
  // After a block the count begins anew.
  hits.forget(now, blockMs > 0 && hits.blockEndsAt > 0 && !isBlocked);
  if (hits.windowEndsAt <= now) hits.windowEndsAt = now + ttlMs;
  if (hits.blockEndsAt <= now) hits.blockEndsAt = 0;
  const expiresInMs = hits.windowEndsAt - now;
  const totalHits = hits.ends.size + 1;
  if (!isBlocked && hits.ends.size < limit) {
    hits.ends.set(call.request, now + ttlMs);
    return { totalHits, expiresInMs, isBlocked: false, blockExpiresInMs: 0 };
  }
  if (blockMs > 0 && !isBlocked) hits.blockEndsAt = now + blockMs;
  const [next = hits.windowEndsAt] = [...hits.ends.values()].sort((one, other) => one - other);
  const blockEndsAt = blockMs > 0 ? hits.blockEndsAt : next;
  return { totalHits, expiresInMs, isBlocked: true, blockExpiresInMs: blockEndsAt - now };
}

export const COUNT_ANSWERS: readonly Answer[] = [
  ...COUNTING,
  ...LATCH,
  answer(HIT, undefined, hit),
  answerMany(FORGET, undefined, (server, keys) => keys.filter((key) => server.delete(key)).length),
  // Nothing that is written is stored here: no write is refused, and every condition is met.
  answer(GUARDED_WRITE, undefined, ({ server, fence, numbers: { token, fenceTtlMs } }) => {
    const newest = server.findOr(fence, Count, () => new Count(0));
    if (token < newest.count) return 'overtaken';
    newest.count = token;
    newest.endsAt = server.now + fenceTtlMs;
    return 'written';
  }),
];
