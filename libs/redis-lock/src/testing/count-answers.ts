import { LockStateError } from '../core/api/errors.js';
import type { AcquireAnswer } from '../core/holding/protocol.js';
import { LARGEST_COUNT } from '../core/api/options.js';
import { FORGET, type Counted } from '../core/once-only.js';
import {
  COUNT_DOWN,
  DELETE,
  GET_COUNT,
  TRY_SET_COUNT,
} from '../primitives/count-down-latch/latch.scripts.js';
import { GUARDED_WRITE } from '../primitives/fencing-guard/fencing-guard.scripts.js';
import {
  ACQUIRE,
  AVAILABLE,
  CANCEL,
  CHANGE,
  DRAIN,
  TRY_SET_PERMITS,
} from '../primitives/counting-semaphore/counting-semaphore.scripts.js';
import { answer, answerMany, type Answer } from './answers.js';
import { Count, type InProcessServer } from './in-process-server.js';

/** This server gets no request twice: it needs a marker only for a call that may be undone. */
function counted(count: number): Counted {
  return { count, isAnnounced: true };
}

function tell(server: InProcessServer, channel: string, free: number): void {
  if (free >= 1 && free <= LARGEST_COUNT) server.publish(channel, String(free));
}

const COUNTING: readonly Answer[] = [
  answer(TRY_SET_PERMITS, undefined, (server, { keys, texts, numbers: { permits, ttlMs } }) => {
    if (server.find(keys.counter, Count) !== undefined) return counted(0);
    server.put(keys.counter, new Count(permits), ttlMs === 0 ? Infinity : ttlMs);
    tell(server, texts.channel, permits);
    return counted(1);
  }),
  answer(
    ACQUIRE,
    'acquire',
    (server, { keys, numbers: { permits, markerTtlMs } }): AcquireAnswer => {
      const free = server.find(keys.counter, Count);
      if (free === undefined || free.count < permits)
        return { kind: 'busy', remainingMs: Infinity };
      free.count -= permits;
      server.put(keys.marker, new Count(permits), markerTtlMs);
      return { kind: 'granted', fencingToken: undefined };
    },
  ),
  answer(CANCEL, undefined, (server, { keys, texts }) => {
    const taken = server.find(keys.marker, Count);
    const free = server.find(keys.counter, Count);
    server.delete(keys.marker);
    if (taken === undefined || free === undefined) return counted(0);
    free.count += taken.count;
    tell(server, texts.channel, free.count);
    return counted(taken.count);
  }),
  answer(CHANGE, 'release', (server, { keys, texts, numbers: { more, fewer, onlyIfExists } }) => {
    const free = server.find(keys.counter, Count);
    if (free === undefined && onlyIfExists === 1) return counted(0);
    const changed = (free?.count ?? 0) + more - fewer;
    if (Math.abs(changed) > LARGEST_COUNT) {
      throw new LockStateError(`it would count beyond ${String(LARGEST_COUNT)} permits`);
    }
    (free ?? server.put(keys.counter, new Count(0))).count = changed;
    if (more > fewer) tell(server, texts.channel, changed);
    return counted(1);
  }),
  answer(DRAIN, 'acquire', (server, { keys }) => {
    const free = server.find(keys.counter, Count);
    const drained = free?.count ?? 0;
    if (free !== undefined) free.count = 0;
    return counted(drained);
  }),
  answer(AVAILABLE, undefined, (server, { keys }) => server.find(keys.counter, Count)?.count ?? 0),
];

const LATCH: readonly Answer[] = [
  answer(TRY_SET_COUNT, undefined, (server, { keys, texts, numbers: { count } }) => {
    if (server.find(keys.latch, Count) !== undefined) return counted(0);
    server.put(keys.latch, new Count(count));
    server.publish(texts.channel, '1');
    return counted(1);
  }),
  answer(COUNT_DOWN, 'release', (server, { keys, texts }) => {
    const left = server.find(keys.latch, Count);
    if (left === undefined) return counted(0);
    left.count -= 1;
    if (left.count > 0) return counted(left.count);
    server.delete(keys.latch);
    server.publish(texts.channel, '0');
    return counted(0);
  }),
  answer(GET_COUNT, undefined, (server, { keys }) => server.find(keys.latch, Count)?.count ?? 0),
  answer(DELETE, undefined, (server, { keys, texts }) => {
    if (server.find(keys.latch, Count) === undefined) return counted(0);
    server.delete(keys.latch);
    server.publish(texts.channel, '0');
    return counted(1);
  }),
];

export const COUNT_ANSWERS: readonly Answer[] = [
  ...COUNTING,
  ...LATCH,
  answerMany(FORGET, undefined, (server, keys) => keys.filter((key) => server.delete(key)).length),
  // The value is not kept: this server refuses no write.
  answer(GUARDED_WRITE, undefined, (server, { keys, numbers: { token, fenceTtlMs } }) => {
    const newest = server.findOr(keys.fence, Count, () => new Count(0));
    if (token < newest.count) return false;
    newest.count = token;
    newest.endsAt = server.now + fenceTtlMs;
    return true;
  }),
];
