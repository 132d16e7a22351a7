import type { AcquireAnswer, Inspection, ReleaseAnswer } from '../core/holding/protocol.js';
import {
  LEASE_ALONE,
  READ_ACQUIRE_ALONE,
  READ_INSPECT_ALONE,
  READ_RENEW_ALONE,
} from '../primitives/read-write-lock/alone.scripts.js';
import {
  READ_ACQUIRE,
  READ_INSPECT,
  READ_RELEASE,
  READ_RENEW,
  READ_CANCEL,
} from '../primitives/read-write-lock/read-lock.scripts.js';
import { FOR_ALL, FOR_NEXT } from '../primitives/read-write-lock/read-write-hash.lua.js';
import { answer, answerMany, type Answer, type Call } from './answers.js';
import type { InProcessServer } from './in-process-server.js';
import { granted } from './lock-answers.js';
import { leaveToReaders, ReadWriteHold, shrink } from './read-write-hold.js';
import { WaitingTurns, type TurnKeys } from './waiting-turns.js';

export const NO_TURNS = { writers: '', patience: '', readers: '', turn: '' };

type Entry = Omit<
  Call<never, 'owner' | 'holdCount' | 'leaseMs' | 'companion' | 'memoryMs' | 'channel'>,
  'keys'
>;

function enterToRead(
  server: InProcessServer,
  keys: TurnKeys & { readonly lock: string },
  call: Entry,
): AcquireAnswer {
  const { owner } = call.texts;
  const { holdCount, leaseMs } = call.numbers;
  const turns = new WaitingTurns(server, keys);
  const hold = server.find(keys.lock, ReadWriteHold);
  const ends = hold?.readers.get(owner);
  if (ends === undefined) {
    if (holdCount > 1) return { kind: 'lost' };
    const leftMs = refusalMs(server, hold, turns, call);
    if (leftMs !== undefined) return { kind: 'busy', remainingMs: leftMs };
  }
  const entered = hold ?? server.put(keys.lock, new ReadWriteHold(), leaseMs);
  const own = ends ?? [];
  entered.readers.set(owner, own);
  shrink(own, holdCount);
  own[holdCount - 1] = Math.max(own[holdCount - 1] ?? 0, server.now + leaseMs);
  server.prolong(entered, leaseMs);
  turns.forgetReader(owner);
  return granted();
}

/** How long (ms) a new reader is refused, as far as is known. */
function refusalMs(
  server: InProcessServer,
  hold: ReadWriteHold | undefined,
  turns: WaitingTurns,
  { texts: { owner, companion, channel }, numbers: { memoryMs } }: Entry,
): number | undefined {
  const waits = memoryMs > 0;
  if (hold?.writer !== undefined) {
    if (hold.writer.owner === companion) return undefined;
    if (waits) {
      turns.waitToRead(owner, memoryMs);
      turns.endPatience();
    }
    return server.leftOf(hold);
  }
  if (!turns.isWriterAwaited || turns.isTurnOf(owner)) return undefined;
  if (waits) turns.waitToRead(owner, memoryMs);
  if (turns.patienceMs === 0) {
    turns.giveTurn();
    server.publish(channel, FOR_ALL);
  }
  return turns.isTurnOf(owner) ? undefined : turns.patienceMs;
}

export function leaveReading(
  server: InProcessServer,
  lock: string,
  { owner, channel, holdCount }: { owner: string; channel: string; holdCount: number },
): ReleaseAnswer {
  const hold = server.find(lock, ReadWriteHold);
  const ends = hold?.readers.get(owner);
  if (hold === undefined || ends === undefined) return 'absent';
  shrink(ends, holdCount);
  if (holdCount > 0) return 'done';
  hold.readers.delete(owner);
  // The writer's own lease must not change.
  if (hold.writer !== undefined || leaveToReaders(server, lock, hold) > 0) return 'done';
  server.publish(channel, FOR_NEXT);
  return 'done';
}

/** The number of renewed holds of a reader; 0 if it is dead. */
function renew(server: InProcessServer, lock: string, owner: string, leaseMs: number): number {
  const hold = server.peek(lock);
  const ends = hold instanceof ReadWriteHold ? hold.readers.get(owner) : undefined;
  if (hold === undefined || ends === undefined || Math.max(...ends) <= server.now) return 0;
  ends.forEach((end, n) => {
    if (end > server.now) ends[n] = Math.max(end, server.now + leaseMs);
  });
  server.prolong(hold, leaseMs);
  return ends.length;
}

function inspect(server: InProcessServer, lock: string): Inspection {
  const hold = server.find(lock, ReadWriteHold);
  const until = hold?.readUntil(server.now);
  if (hold === undefined || until === undefined) return { remainingMs: 0, owners: [] };
  return { remainingMs: until - server.now, owners: [...hold.readers.keys()] };
}

export const READ_LOCK_ANSWERS: readonly Answer[] = [
  answer(READ_ACQUIRE, 'acquire', (server, { keys, ...call }) => enterToRead(server, keys, call)),
  answer(READ_RELEASE, 'release', (server, { keys, texts, numbers: { holdCount } }) =>
    leaveReading(server, keys.lock, { ...texts, holdCount }),
  ),
  answer(READ_CANCEL, undefined, (server, { keys, texts }) => {
    const turns = new WaitingTurns(server, { ...keys, writers: '', patience: '' });
    const endsTurn = turns.forgetReader(texts.owner);
    const left = leaveReading(server, keys.lock, { ...texts, holdCount: 0 });
    // The writers that let it go first need not wait any more.
    if (endsTurn && left === 'absent') server.publish(texts.channel, FOR_NEXT);
    return left;
  }),
  answerMany(READ_RENEW, 'renew', (server, keys, args) =>
    keys
      .filter((_key, i) => i % 2 === 0)
      .map((lock, i) => renew(server, lock, String(args[2 * i]), Number(args[2 * i + 1])) > 0),
  ),
  answer(READ_INSPECT, undefined, (server, { keys: { lock } }) => inspect(server, lock)),
  // This server has no moving slot: these scripts are never asked for.
  answer(READ_ACQUIRE_ALONE, 'acquire', (server, { keys, texts, numbers }) => {
    const call = { ...numbers, channel: 0, memoryMs: 0 };
    const named = { ...texts, channel: '', memoryMs: '0' };
    return enterToRead(server, { ...keys, ...NO_TURNS }, { texts: named, numbers: call });
  }),
  answer(READ_RENEW_ALONE, 'renew', (server, { keys, texts, numbers }) =>
    renew(server, keys.lock, texts.owner, numbers.leaseMs),
  ),
  answer(LEASE_ALONE, undefined, (): boolean => true),
  answer(READ_INSPECT_ALONE, undefined, (server, { keys: { lock } }) => inspect(server, lock)),
];
