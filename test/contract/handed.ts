import type { Redis } from 'ioredis';
import type { QueueKind } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { ACQUIRE } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type {
  Claim,
  AcquireAnswer,
  AcquireTerms,
  HoldProtocol,
} from '../../libs/redis-lock/src/core/holding/protocol.js';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { WriteLockProtocol } from '../../libs/redis-lock/src/primitives/read-write-lock/write-lock-protocol.js';
import {
  WRITE_PASS,
  WRITE_PASS_IN_ORDER,
} from '../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import { WRITE_ACQUIRE } from '../../libs/redis-lock/src/primitives/read-write-lock/write-lock.scripts.js';
import { ReentrantLockProtocol } from '../../libs/redis-lock/src/primitives/lock/lock-protocol.js';
import { PASS, PASS_IN_ORDER } from '../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import { channelOf as writeChannelOf } from '../support/redisson-read-write.js';
import { channelOf, FOREIGN_OWNER } from '../support/redisson.js';
import type { ServerSuite } from './suite.js';

interface SentScript {
  readonly lua: string;
  readonly sha1: string;
}

/** A kind of lock that a leaving owner gives to the next waiter. */
export interface HandedLocks {
  readonly queue: QueueKind;
  /** The fields of the lock in Redis when an owner holds it once. */
  held(owner: string): Record<string, string>;
  /** Redisson's channel, and what ours says there when it is free. */
  channel(key: string): string;
  readonly freed: readonly string[];
  /** Redis runs at most so many commands when a process passes the lock on to its own waiter. */
  readonly commandsOfAPass: number;
  readonly enter: { readonly name: string };
  readonly pass: SentScript;
  readonly passInOrder: SentScript;
  /** Sends a claim as the process of this context would. */
  claim(
    context: LockContext,
    key: string,
    owner: string,
    claim: Claim,
  ): Promise<Reply<AcquireAnswer>>;
  /** A Java service: each of its calls is 1 script or transaction, so no other command comes between. */
  readonly java: {
    tryLock(redis: Redis, key: string): Promise<boolean>;
    unlock(redis: Redis, key: string): Promise<void>;
  };
}

export interface HandedSuite extends ServerSuite {
  readonly handed: HandedLocks;
}

const TERMS: AcquireTerms = {
  ...{ leaseTimeMs: 30_000, fenced: false, waitTimeMs: 60_000, minReplicas: 0 },
};
const claimBy =
  (protocolOf: (context: LockContext) => HoldProtocol): HandedLocks['claim'] =>
  (context, key, owner, claim) =>
    protocolOf(context).acquire({ key, owner }, TERMS, 1, claim);

function javaOf(held: HandedLocks['held'], channel: HandedLocks['channel'], freed: string) {
  const fields = Object.entries(held(FOREIGN_OWNER)).flat();
  return {
    tryLock: async (redis: Redis, key: string) => {
      const lua = `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], unpack(ARGV))
return redis.call('pexpire', KEYS[1], 30000)`;
      return (await redis.eval(lua, 1, key, ...fields)) === 1;
    },
    unlock: async (redis: Redis, key: string) => {
      await redis.multi().del(key).publish(channel(key), freed).exec();
    },
  };
}

const heldLock = (owner: string) => ({ [owner]: '1' });
export const HANDED_LOCK: HandedLocks = {
  queue: 'lock',
  held: heldLock,
  channel: channelOf,
  freed: ['0'],
  commandsOfAPass: 6,
  enter: ACQUIRE,
  pass: PASS,
  passInOrder: PASS_IN_ORDER,
  claim: claimBy((context) => new ReentrantLockProtocol(context)),
  java: javaOf(heldLock, channelOf, '0'),
};

const heldToWrite = (owner: string) => ({ mode: 'write', [`${owner}:write`]: '1' });
export const HANDED_WRITE_LOCK: HandedLocks = {
  queue: 'rwlock',
  held: heldToWrite,
  channel: writeChannelOf,
  freed: ['1', '0'],
  commandsOfAPass: 8,
  enter: WRITE_ACQUIRE,
  pass: WRITE_PASS,
  passInOrder: WRITE_PASS_IN_ORDER,
  claim: claimBy((context) => new WriteLockProtocol(context, () => false)),
  java: javaOf(heldToWrite, writeChannelOf, '1'),
};
