import type { AcquireAnswer, ReleaseAnswer } from '../core/holding/protocol.js';
import { FOR_ALL } from '../primitives/read-write-lock/read-write-hash.lua.js';
import { RELEASE_ALONE, WRITE_ACQUIRE_ALONE } from '../primitives/read-write-lock/alone.scripts.js';
import {
  WRITE_ACQUIRE_OR_QUEUE,
  WRITE_ACQUIRE,
  WRITE_INSPECT,
} from '../primitives/read-write-lock/write-lock.scripts.js';
import {
  WRITE_RELEASE,
  WRITE_PASS,
  WRITE_PASS_IN_ORDER,
  WRITE_CANCEL,
} from '../primitives/read-write-lock/write-release.scripts.js';
import { answer, answerPair, type Answer, type TokenOf } from './answers.js';
import type { InProcessServer } from './in-process-server.js';
import { granted, tokenFor, type Entry, type Passing } from './lock-answers.js';
import { leaveReading, NO_TURNS } from './read-lock-answers.js';
import { leaveToReaders, ReadWriteHold } from './read-write-hold.js';
import { WaitingTurns, type TurnKeys } from './waiting-turns.js';

type Keys = TurnKeys & { readonly lock: string };

interface WriteEntry extends Omit<Entry, 'lock'> {
  readonly memoryMs: number;
  readonly channel: string;
}

function enterToWrite(
  server: InProcessServer,
  keys: Keys,
  entry: WriteEntry,
  token?: TokenOf,
): AcquireAnswer {
  const { owner, leaseMs, memoryMs } = entry;
  const hold = server.find(keys.lock, ReadWriteHold);
  const writer = hold?.writer?.owner === owner ? hold.writer : undefined;
  const holdCount = entry.holdCount ?? Math.max(1, writer?.holdCount ?? 0);
  const turns = new WaitingTurns(server, keys);
  if (writer === undefined) {
    const leftMs = refusalMs(server, keys.lock, hold, turns, entry.channel);
    if (leftMs !== undefined) {
      if (memoryMs > 0) turns.waitToWrite(owner, memoryMs);
      return { kind: 'busy', remainingMs: leftMs };
    }
  }
  const fencingToken = tokenFor(server, token, writer?.holdCount !== holdCount);
  if (hold === undefined || writer === undefined) {
    server.put(keys.lock, new ReadWriteHold(owner, holdCount), leaseMs);
    turns.forgetWriter(owner);
  } else {
    writer.holdCount = holdCount;
    server.prolong(hold, leaseMs);
  }
  return granted(fencingToken);
}

/**
 * How long (ms) a writer is refused: another owner writes or reads, or waiting readers have their
 * turn.
 */
function refusalMs(
  server: InProcessServer,
  lock: string,
  hold: ReadWriteHold | undefined,
  turns: WaitingTurns,
  channel: string,
): number | undefined {
  if (hold?.writer !== undefined) return server.leftOf(hold);
  const leftMs = hold === undefined ? 0 : leaveToReaders(server, lock, hold);
  if (leftMs > 0) return leftMs;
  if (turns.openTurn()) server.publish(channel, FOR_ALL);
  return turns.turnMs;
}

/**
 * @returns whether readers have it now, or else it is free; undefined if it is not this writer's
 */
function letGo(server: InProcessServer, keys: Keys, owner: string): boolean | undefined {
  const hold = server.peek(keys.lock);
  if (!(hold instanceof ReadWriteHold) || hold.writer?.owner !== owner) return undefined;
  const leftMs = leaveToReaders(server, keys.lock, hold);
  const turns = new WaitingTurns(server, keys);
  if (turns.isOrdered) turns.giveTurn();
  return leftMs > 0 || turns.turnMs !== undefined;
}

function passOn(
  server: InProcessServer,
  keys: Keys,
  { owner, successor, leaseMs, starts, channel }: Passing & { readonly channel: string },
): ReleaseAnswer {
  const isForReaders = letGo(server, keys, owner);
  if (isForReaders === undefined) {
    return server.find(keys.lock, ReadWriteHold)?.writer?.owner === successor ? 'had' : 'absent';
  }
  if (isForReaders) {
    server.publish(channel, FOR_ALL);
    return 'yielded';
  }
  server.put(keys.lock, new ReadWriteHold(successor, starts), leaseMs);
  new WaitingTurns(server, keys).forgetWriter(successor);
  return 'passed';
}

function leaveWriting(
  server: InProcessServer,
  keys: Keys,
  { owner, channel }: { owner: string; channel: string },
): ReleaseAnswer {
  if (server.find(keys.lock, ReadWriteHold)?.writer?.owner !== owner) return 'absent';
  letGo(server, keys, owner);
  server.publish(channel, FOR_ALL);
  return 'done';
}

export const WRITE_LOCK_ANSWERS: readonly Answer[] = [
  ...answerPair(WRITE_ACQUIRE, (server, { keys, texts: { owner, channel }, numbers }, token) =>
    enterToWrite(server, keys, { ...numbers, owner, channel, holdCount: 1 }, token),
  ),
  ...answerPair(
    WRITE_ACQUIRE_OR_QUEUE,
    (server, { keys, texts: { owner, channel }, numbers }, token) =>
      enterToWrite(server, keys, { ...numbers, owner, channel, holdCount: undefined }, token),
  ),
  answer(WRITE_RELEASE, 'release', (server, { keys, texts }) => leaveWriting(server, keys, texts)),
  // This server has no moving slot: these scripts are never asked for.
  answer(WRITE_ACQUIRE_ALONE, 'acquire', (server, { keys, texts: { owner }, numbers }) => {
    const entry = { ...numbers, owner, channel: '', memoryMs: 0, holdCount: 1 };
    return enterToWrite(server, { ...keys, ...NO_TURNS }, entry);
  }),
  answer(RELEASE_ALONE, 'release', (server, { keys, texts, numbers: { holdCount } }) => {
    const [owner = '', isWriter] = texts.field.split(':write');
    const call = { owner, channel: texts.channel, holdCount };
    const answer =
      isWriter === undefined
        ? leaveReading(server, keys.lock, call)
        : leaveWriting(server, { ...keys, ...NO_TURNS }, call);
    return { answer, leases: 0 };
  }),
  answer(WRITE_PASS, 'release', (server, { keys, texts, numbers: { leaseMs, starts } }) =>
    passOn(server, keys, { ...texts, leaseMs, starts }),
  ),
  answer(WRITE_PASS_IN_ORDER, 'release', (server, { keys, texts, numbers: { leaseMs, starts } }) =>
    passOn(server, keys, { ...texts, leaseMs, starts }),
  ),
  answer(WRITE_CANCEL, undefined, (server, { keys, texts: { owner, channel } }) => {
    const wasOurs = letGo(server, keys, owner) !== undefined;
    const isLast = new WaitingTurns(server, keys).forgetWriter(owner);
    if (wasOurs || isLast) server.publish(channel, FOR_ALL);
    return wasOurs ? 'done' : 'absent';
  }),
  answer(WRITE_INSPECT, undefined, (server, { keys: { lock } }) => {
    const hold = server.find(lock, ReadWriteHold);
    if (hold?.writer === undefined) return { remainingMs: 0, owners: [] };
    return { remainingMs: server.leftOf(hold), owners: [hold.writer.owner] };
  }),
];
