import type { QueueKind } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { ACQUIRE } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';
import { turnKeys } from '../../libs/redis-lock/src/primitives/read-write-lock/footprint.js';
import {
  WRITE_RELEASE,
  WRITE_PASS,
  WRITE_PASS_IN_ORDER,
  WRITE_CANCEL,
} from '../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import {
  WRITE_ACQUIRE_OR_QUEUE,
  WRITE_ACQUIRE,
} from '../../libs/redis-lock/src/primitives/read-write-lock/write-lock.scripts.js';
import {
  ACQUIRE_OR_QUEUE,
  RELEASE,
  PASS,
  PASS_IN_ORDER,
  CANCEL,
} from '../../libs/redis-lock/src/primitives/lock/lock.scripts.js';

type Named<R> = Script<string, string, R>;
type AnswerOf<S> = S extends Script<string, string, infer R> ? R : never;
type Enters = Named<AnswerOf<typeof ACQUIRE_OR_QUEUE>>;
type Leaves = Named<AnswerOf<typeof RELEASE>>;

/** A kind of lock that is handed on, for those who run its scripts themselves. */
export interface QueueKindUnderTest {
  readonly queue: QueueKind;
  readonly claim: Enters;
  readonly claimFenced: Enters;
  readonly enter: Enters;
  readonly leave: Leaves;
  readonly pass: Leaves;
  readonly passInOrder: Leaves;
  readonly cancel: Leaves;
  readonly channel: string;
  /** The messages that announce a free lock. */
  readonly freed: readonly string[];
  /** Keys and arguments that only this kind has. */
  readonly keys: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string | number>>;
  /** No such key ever lives longer than that. */
  readonly longestMs: Readonly<Record<string, number>>;
  /** The field of an owner, and what else is in the hash. */
  fieldOf(owner: string): string;
  readonly beside: Readonly<Record<string, string>>;
  /** A lock of another kind in its key, and why it is refused. */
  readonly other: {
    readonly fields: Readonly<Record<string, string>>;
    /** As it is looked at. */
    readonly seen: Readonly<Record<string, string>>;
    readonly refused: string;
  };
}

const OTHERS_OWNER = 'c0ffee00-0000-4000-8000-000000000057:1';
const MEMORY_MS = 3_000;

const LOCK: QueueKindUnderTest = {
  queue: 'lock',
  claim: ACQUIRE_OR_QUEUE,
  claimFenced: ACQUIRE_OR_QUEUE.fenced,
  enter: ACQUIRE,
  leave: RELEASE,
  pass: PASS,
  passInOrder: PASS_IN_ORDER,
  cancel: CANCEL,
  channel: 'redisson_lock__channel:{k}',
  freed: ['0'],
  keys: {},
  args: { channel: 'redisson_lock__channel:{k}' },
  longestMs: {},
  fieldOf: (owner) => owner,
  beside: {},
  other: {
    fields: { mode: 'write', [`${OTHERS_OWNER}:write`]: '1' },
    seen: { mode: 'write', 'W1:write': '1' },
    refused: 'LOCKSTATE it holds a read-write lock',
  },
};

const WRITE_LOCK: QueueKindUnderTest = {
  queue: 'rwlock',
  claim: WRITE_ACQUIRE_OR_QUEUE,
  claimFenced: WRITE_ACQUIRE_OR_QUEUE.fenced,
  enter: WRITE_ACQUIRE,
  leave: WRITE_RELEASE,
  pass: WRITE_PASS,
  passInOrder: WRITE_PASS_IN_ORDER,
  cancel: WRITE_CANCEL,
  channel: 'redisson_rwlock:{k}',
  freed: ['1', '0'],
  keys: { prefix: '{k}:', ...turnKeys('k') },
  args: { channel: 'redisson_rwlock:{k}', memoryMs: MEMORY_MS },
  longestMs: { writers: MEMORY_MS, readers: MEMORY_MS, writersTurn: 5_000, turn: 1_000 },
  fieldOf: (owner) => `${owner}:write`,
  beside: { mode: 'write' },
  other: {
    fields: { [OTHERS_OWNER]: '1' },
    seen: { W1: '1' },
    refused: 'LOCKSTATE it holds something that is no read-write lock',
  },
};

export const QUEUE_KINDS = { LOCK, WRITE_LOCK };
