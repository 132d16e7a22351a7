import type { LockKind, LockProcess } from '../../core/api/observer.js';
import { remainingOf } from '../lua/answers.js';
import type { PermitCounts } from '../semaphore/capacity.scripts.js';
import type { Line } from './inspect.scripts.js';

/**
 * The state of a name in Redis at one moment. Every time is in milliseconds; `Infinity` means no
 * end. A long list shows its first 100 entries.
 */
export interface LockInspection {
  readonly name: string;
  /** The key in Redis: the name behind the module's `keyPrefix`. */
  readonly key: string;
  /**
   * The kinds that the name can be, most often one. Empty when it is free and no caller waits.
   * Never `red`, which is on several servers. Redis cannot distinguish all kinds. A fair lock
   * without waiters is a `lock`. A plain number may be a semaphore without permits in use, a
   * counting semaphore or a latch.
   */
  readonly kinds: readonly LockKind[];
  /** The rest of the longest lease; 0 when it is free. */
  readonly remainingMs: number;
  readonly holders: readonly {
    readonly kind: LockKind;
    /** `<client uuid>:<number>`, or the id of a permit. Keep it out of logs and tickets. */
    readonly owner: string;
    /** 0: the owner was handed the lock, and has yet to acquire it. */
    readonly holdCount: number;
    /** 0 for a reader that has crashed, and whose lease is over. */
    readonly remainingMs: number;
    /** Absent if Redis does not know it, as for a Java service. */
    readonly process?: LockProcess;
  }[];
  readonly holderCount: number;
  /** For a semaphore. `capacity` is the number in all, or 0 if it was never set. */
  readonly permits?: {
    /** Negative while more permits are in use than a lowered capacity allows. */
    readonly available: number;
    readonly acquired: number;
    readonly capacity: number;
  };
  /** The free permits of a counting semaphore, or the remaining count of a latch. */
  readonly count?: number;
  /** The newest fencing token. */
  readonly fencingToken?: number;
  /**
   * The queues in Redis, in the order in which they are served, without empty ones. Callers of
   * plain locks and of semaphores wait in their processes: Redis knows at most one of them.
   */
  readonly queues: readonly {
    readonly kind: LockKind;
    /** One entry for each caller, or one for each process with callers. */
    readonly each: 'caller' | 'process';
    readonly length: number;
    readonly waiters: readonly {
      /** An owner, the client uuid of a process, or the id of a permit. */
      readonly who: string;
      readonly waitedMs?: number;
      /** After this time without a sign of life, it is passed over or forgotten. */
      readonly forgottenInMs?: number;
      /** The number of permits that a caller for several permits requests. */
      readonly permits?: number;
      readonly process?: LockProcess;
    }[];
  }[];
}

/** The kinds that have holders. */
export const HELD_KINDS = ['lock', 'fair', 'read', 'write', 'semaphore'] as const;
export type HeldKind = (typeof HELD_KINDS)[number];

/** A reader whose lease is over holds nothing. */
export function presentHolders({
  holders,
}: Pick<LockInspection, 'holders'>): LockInspection['holders'] {
  return holders.filter(({ remainingMs }) => remainingMs > 0);
}

type Queue = LockInspection['queues'][number];

/** By the lines of their waiters, in the order in which they are served. */
const QUEUES: readonly (readonly [what: string, queue: Pick<Queue, 'kind' | 'each'>])[] = [
  ['fair-queue', { kind: 'fair', each: 'caller' }],
  ['processes', { kind: 'lock', each: 'process' }],
  ['turn', { kind: 'read', each: 'caller' }],
  ['writing-processes', { kind: 'write', each: 'process' }],
  ['writers', { kind: 'write', each: 'caller' }],
  ['readers', { kind: 'read', each: 'caller' }],
  ['mark', { kind: 'semaphore', each: 'caller' }],
];

const HOLDERS: readonly string[] = ['lock', 'fair', 'read', 'write', 'semaphore'];

/** The lines of this name as one object. */
export function inspectionOf(name: string, key: string, lines: readonly Line[]): LockInspection {
  const one = (what: string) => lines.find((line) => line.what === what);
  const holders = lines.filter(({ what }) => HOLDERS.includes(what)).map(holderOf);
  const [number, used] = [one('count'), one('permits-used')];
  const held = one('holders') ?? used;
  const queues = QUEUES.flatMap(([what, queue]) => queueOf(what, queue, lines));
  const fencingToken = Number(one('token')?.who ?? NaN);
  const kinds = new Set([
    ...holders.map(({ kind }) => kind),
    ...(used === undefined ? kindsOfNumber(number?.first) : (['semaphore'] as const)),
    ...queues.map(({ kind }) => kind),
  ]);
  return {
    ...{ name, key, kinds: [...kinds] },
    remainingMs: Math.max(0, ...holders.map(({ remainingMs }) => remainingMs)),
    ...{ holders, holderCount: held === undefined ? 0 : held.first - held.second },
    ...(kinds.has('semaphore') && { permits: permitsOf(number, used) }),
    ...(kinds.has('counting-semaphore') && { count: number?.first ?? 0 }),
    ...(fencingToken > 0 && { fencingToken }),
    queues,
  };
}

function holderOf({ what, who, first, second }: Line): LockInspection['holders'][number] {
  const kind = what as LockKind;
  return { kind, owner: who, holdCount: first, remainingMs: remainingOf(second) };
}

/** An open latch has no number. */
function kindsOfNumber(number: number | undefined): LockKind[] {
  if (number === undefined) return [];
  return ['semaphore', 'counting-semaphore', ...(number > 0 ? (['latch'] as const) : [])];
}

/** As `semaphore.look` counts: permits whose lease is over are free. */
function permitsOf(number: Line | undefined, used: Line | undefined): PermitCounts {
  const { first: all, second: expired } = used ?? { first: 0, second: 0 };
  const acquired = all - expired;
  if (number === undefined) return { available: 0, acquired, capacity: 0 };
  return { available: number.first + expired, acquired, capacity: number.first + all };
}

function queueOf(
  what: string,
  queue: Pick<Queue, 'kind' | 'each'>,
  lines: readonly Line[],
): Queue[] {
  const length = lines.find((line) => line.what === 'length' && line.who === what);
  if (length === undefined) return [];
  const waiters = lines
    .filter((line) => line.what === what)
    .map(({ who, first, second }) => ({
      who,
      ...(what === 'mark' ? { permits: first } : first >= 0 && { waitedMs: first }),
      ...(second >= 0 && { forgottenInMs: second }),
    }));
  return [{ ...queue, length: length.first, waiters }];
}
