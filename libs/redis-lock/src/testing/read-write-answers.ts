import type { AcquireAnswer, Holder, Inspection, ReleaseAnswer } from '../core/holding/protocol.js';
import { writerOf, type TURN_KEYS } from '../primitives/read-write-lock/footprint.js';
import * as reading from '../primitives/read-write-lock/read-lock.scripts.js';
import { FOR_ALL, FOR_NEXT } from '../primitives/read-write-lock/read-write-hash.lua.js';
import {
  answer,
  answerMany,
  answerPair,
  type Answer,
  type Call,
  type MaybeFenced,
} from './answers.js';
import { Held, grant, type Passing } from './lock-answers.js';
import { WaitingTurns } from './waiting-turns.js';
import * as writing from '../primitives/read-write-lock/write-lock.scripts.js';
import * as released from '../primitives/read-write-lock/write-release.scripts.js';

/** The holders of a read-write lock: readers, or a writer that may read as well. */
export class ReadWriteHold extends Held {
  /** The ends of the holds of each reader. */
  readonly readers = new Map<string, number[]>();

  /** @param owner the field of the writer; empty without one */
  constructor(owner = '', holdCount = 0) {
    super(owner, holdCount);
  }

  get writer(): string | undefined {
    return /^(.*):write$/.exec(this.owner)?.[1];
  }

  /** When the lease of the last live reader ends; expired readers are removed. */
  readUntil(now: number): number | undefined {
    let longest: number | undefined;
    for (const [reader, ends] of this.readers) {
      const until = Math.max(...ends);
      if (until <= now) this.readers.delete(reader);
      else longest = Math.max(longest ?? 0, until);
    }
    return longest;
  }
}

export function readersOf({ readers }: ReadWriteHold): Holder[] {
  return [...readers].map(([owner, ends]) => ({ owner, holdCount: ends.length }));
}

/** Lowers a reader to this many holds. The last one keeps the longest lease of all of them. */
function shrink(ends: number[], holdCount: number): void {
  if (ends.length <= holdCount) return;
  const until = Math.max(...ends);
  ends.length = holdCount;
  if (holdCount > 0) ends[holdCount - 1] = until;
}

/** @returns the rest of the longest lease of readers; 0, and no lock, without readers */
function leaveToReaders({ server, lock }: Call<'lock'>, hold: ReadWriteHold): number {
  const until = hold.readUntil(server.now);
  if (until === undefined) {
    server.delete(lock);
    return 0;
  }
  hold.owner = '';
  hold.endsAt = until;
  return server.leftOf(hold);
}

type Reading = Call<
  (typeof TURN_KEYS)[number] | 'lock' | 'owner' | 'companion' | 'channel',
  'holdCount' | 'leaseMs' | 'memoryMs'
>;

function enterToRead(call: Reading): AcquireAnswer {
  const { server, lock, owner } = call;
  const { holdCount, leaseMs } = call.numbers;
  const turns = new WaitingTurns(call);
  const hold = server.find(lock, ReadWriteHold);
  const ends = hold?.readers.get(owner);
  if (ends === undefined) {
    if (holdCount > 1) return { kind: 'lost' };
    const leftMs = readRefusalMs(call, hold, turns);
    if (leftMs !== undefined) return { kind: 'busy', remainingMs: leftMs };
  }
  const entered = hold ?? server.put(lock, new ReadWriteHold(), leaseMs);
  const own = ends ?? [];
  entered.readers.set(owner, own);
  shrink(own, holdCount);
  own[holdCount - 1] = Math.max(own[holdCount - 1] ?? 0, server.now + leaseMs);
  server.prolong(entered, leaseMs);
  turns.forgetReader(owner);
  return { kind: 'granted', fencingToken: undefined };
}

/** How long a new reader is refused, as far as is known. */
function readRefusalMs(
  { server, owner, companion, channel, numbers: { memoryMs } }: Reading,
  hold: ReadWriteHold | undefined,
  turns: WaitingTurns,
): number | undefined {
  const waits = memoryMs > 0;
  if (hold?.writer !== undefined) {
    if (hold.writer === companion) return undefined;
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

function leaveReading(call: Call<'lock' | 'owner' | 'channel'>, holdCount: number): ReleaseAnswer {
  const { server, lock, owner } = call;
  const hold = server.find(lock, ReadWriteHold);
  const ends = hold?.readers.get(owner);
  if (hold === undefined || ends === undefined) return 'absent';
  shrink(ends, holdCount);
  if (holdCount > 0) return 'done';
  hold.readers.delete(owner);
  // The writer's own lease must not change.
  if (hold.writer !== undefined || leaveToReaders(call, hold) > 0) return 'done';
  server.publish(call.channel, FOR_NEXT);
  return 'done';
}

const READ_ANSWERS: readonly Answer[] = [
  answer(reading.READ_ACQUIRE, 'acquire', enterToRead),
  answer(reading.READ_RELEASE, 'release', (call) => leaveReading(call, call.numbers.holdCount)),
  answer(reading.READ_CANCEL, undefined, (call) => {
    const turns = new WaitingTurns({ ...call, writers: '', patience: '' });
    const endsTurn = turns.forgetReader(call.owner);
    const left = leaveReading(call, 0);
    // The writers that let it go first need not wait any longer.
    if (endsTurn && left === 'absent') call.server.publish(call.channel, FOR_NEXT);
    return left;
  }),
  answerMany(reading.READ_RENEW, 'renew', (server, keys, args) =>
    keys
      .filter((_key, i) => i % 2 === 0)
      .map((lock, i) => {
        const leaseMs = Number(args[2 * i + 1]);
        const hold = server.peek(lock);
        const ends = hold instanceof ReadWriteHold ? hold.readers.get(String(args[2 * i])) : [];
        if (hold === undefined || Math.max(...(ends ?? [])) <= server.now) return false;
        ends?.forEach((end, n) => {
          if (end > server.now) ends[n] = Math.max(end, server.now + leaseMs);
        });
        server.prolong(hold, leaseMs);
        return true;
      }),
  ),
  answer(reading.READ_INSPECT, undefined, ({ server, lock }): Inspection => {
    const hold = server.find(lock, ReadWriteHold);
    const until = hold?.readUntil(server.now);
    if (hold === undefined || until === undefined) return { remainingMs: 0, holders: [] };
    return { remainingMs: until - server.now, holders: readersOf(hold) };
  }),
];

type Writing = Call<(typeof TURN_KEYS)[number] | 'lock' | 'owner' | 'channel'>;

/** @param holdCount 1, unless it is more already */
function enterToWrite(
  call: Writing & MaybeFenced & Call<never, 'leaseMs' | 'memoryMs'>,
  holdCount?: number,
): AcquireAnswer {
  const { server, lock, owner } = call;
  const { memoryMs } = call.numbers;
  const hold = server.find(lock, ReadWriteHold);
  const own = hold?.writer === owner ? hold : undefined;
  const turns = new WaitingTurns(call);
  const leftMs = own === undefined ? writeRefusalMs(call, hold, turns) : undefined;
  if (leftMs !== undefined) {
    if (memoryMs > 0) turns.waitToWrite(owner, memoryMs);
    return { kind: 'busy', remainingMs: leftMs };
  }
  const count = holdCount ?? Math.max(1, own?.holdCount ?? 0);
  const make = () => new ReadWriteHold(writerOf(owner), count);
  const granted = grant(call, own, count, make);
  if (own === undefined) turns.forgetWriter(owner);
  return granted;
}

/** How long another owner's lease, or the turn of waiting readers, refuses a new writer. */
function writeRefusalMs(
  call: Writing,
  hold: ReadWriteHold | undefined,
  turns: WaitingTurns,
): number | undefined {
  const { server, channel } = call;
  if (hold?.writer !== undefined) return server.leftOf(hold);
  const leftMs = hold === undefined ? 0 : leaveToReaders(call, hold);
  if (leftMs > 0) return leftMs;
  if (turns.openTurn()) server.publish(channel, FOR_ALL);
  return turns.turnMs;
}

/** @returns whether it is for readers now, or else free; undefined if it is not this writer's */
function letGo(call: Writing): boolean | undefined {
  const hold = call.server.peek(call.lock);
  if (!(hold instanceof ReadWriteHold) || hold.writer !== call.owner) return undefined;
  const leftMs = leaveToReaders(call, hold);
  const turns = new WaitingTurns(call);
  if (turns.isOrdered) turns.giveTurn();
  return leftMs > 0 || turns.turnMs !== undefined;
}

function passOn(call: Writing & Passing): ReleaseAnswer {
  const { server, lock, successor, channel, numbers } = call;
  const isForReaders = letGo(call);
  if (isForReaders === undefined) {
    return server.find(lock, ReadWriteHold)?.writer === successor ? 'had' : 'absent';
  }
  if (isForReaders) {
    server.publish(channel, FOR_ALL);
    return 'yielded';
  }
  server.put(lock, new ReadWriteHold(writerOf(successor), numbers.starts), numbers.leaseMs);
  new WaitingTurns(call).forgetWriter(successor);
  return 'passed';
}

export const READ_WRITE_ANSWERS: readonly Answer[] = [
  ...READ_ANSWERS,
  ...answerPair(writing.WRITE_ACQUIRE, (call) => enterToWrite(call, 1)),
  ...answerPair(writing.WRITE_ACQUIRE_OR_QUEUE, (call) => enterToWrite(call)),
  answer(released.WRITE_RELEASE, 'release', (call) => {
    const { server, lock, owner, channel } = call;
    if (server.find(lock, ReadWriteHold)?.writer !== owner) return 'absent';
    letGo(call);
    server.publish(channel, FOR_ALL);
    return 'done';
  }),
  answer(released.WRITE_PASS, 'release', passOn),
  answer(released.WRITE_PASS_IN_ORDER, 'release', passOn),
  answer(released.WRITE_CANCEL, undefined, (call) => {
    const wasOurs = letGo(call) !== undefined;
    const isLast = new WaitingTurns(call).forgetWriter(call.owner);
    if (wasOurs || isLast) call.server.publish(call.channel, FOR_ALL);
    return wasOurs ? 'done' : 'absent';
  }),
  answer(writing.WRITE_INSPECT, undefined, ({ server, lock }) => {
    const hold = server.find(lock, ReadWriteHold);
    if (hold?.writer === undefined) return { remainingMs: 0, holders: [] };
    const holders = [{ owner: hold.writer, holdCount: hold.holdCount }];
    return { remainingMs: server.leftOf(hold), holders };
  }),
];
