import type { OrderState } from '../database/tables.js';
import type { GatePoint } from '../seckill/gate.js';
import type { StrategyName } from '../strategies/strategy.js';
import type { Cell, CellResult, Outcome } from './cell.js';

/**
 * All events of the arena, as a sequence of steps. The terminal, the page, `--json` and recordings
 * read the same steps. `at`: ms since the run began. Steps of another process arrive up to 50 ms
 * late, so `at` may decrease by that much.
 */
export type Step = { readonly at: number } & Happening;

export type Happening =
  | RunBegan
  | RunEnded
  | CellBegan
  | CellEnded
  | ProcessChanged
  | OrderPassed
  | OrderAnswered
  | LockReported
  | KeySeen
  | Struck
  | BooksSeen
  | WaitersSeen
  | SaleOpened
  | OrderMoved
  | Reconciled;

/** The first step of a run. */
export interface RunBegan {
  readonly kind: 'run-began';
  readonly stock: number;
  readonly buyers: number;
  readonly processes: number;
  /** In display order, with the published outcome of each. */
  readonly cells: readonly (Cell & { readonly expected?: Outcome | undefined })[];
  /** The lines of code of each strategy in this run, as in its source file. */
  readonly sources: Readonly<Partial<Record<StrategyName, string>>>;
  readonly versions: { readonly node: string; readonly redis: string; readonly postgres?: string };
}

/** All cells have been played. The shop may still serve. */
export interface RunEnded {
  readonly kind: 'run-ended';
  readonly tookMs: number;
}

export interface CellBegan {
  readonly kind: 'cell-began';
  readonly cell: string;
}

export interface CellEnded {
  readonly kind: 'cell-ended';
  readonly cell: string;
  readonly outcome: Outcome;
  readonly expected?: Outcome | undefined;
  readonly result: CellResult;
}

/** A process of the shop, by its pid. */
export interface ProcessChanged {
  readonly kind: 'process';
  readonly process: number;
  readonly state: 'started' | 'ended';
}

/**
 * An order has reached a point of its strategy, where the arena may hold it. A section begins at
 * `lock-set`, or at `before-read` without a lock in Redis. It ends with the answer or the release.
 */
export interface OrderPassed {
  readonly kind: 'passed';
  readonly cell: string;
  readonly process: number;
  readonly buyer: string;
  readonly point: GatePoint;
}

/** The answer to an order, or to another request of a part. There, `sold` means success. */
export interface OrderAnswered {
  readonly kind: 'answered';
  readonly cell: string;
  readonly buyer: string;
  /** 0: the connection was cut, and the fate of the order is unknown. */
  readonly process: number;
  readonly answer: 'sold' | 'sold-out' | 'busy' | 'duplicate' | 'refused' | 'cut';
  /** The pieces left after it, by the process that sold. */
  readonly remaining?: number | undefined;
  /** The reason of a refusal: `token 33 < 34`, `LEASE_LOST`. */
  readonly reason?: string | undefined;
  readonly tookMs: number;
}

/** An event of the library about its locks in one process. `renewed` covers all of them at once. */
export interface LockReported {
  readonly kind: 'lock';
  readonly process: number;
  readonly event:
    | 'acquired'
    | 'waiting'
    | 'timed-out'
    | 'released'
    | 'renewed'
    | 'renewal-failed'
    | 'suspect'
    | 'recovered'
    | 'lost';
  readonly cell?: string | undefined;
  readonly buyer?: string | undefined;
  readonly name?: string | undefined;
  /** The reason of the loss. */
  readonly reason?: string | undefined;
}

/** The lock in Redis, after a change other than the passing of its TTL. */
export interface KeySeen {
  readonly kind: 'key';
  readonly cell: string;
  readonly name: string;
  /** Absent: the key does not exist. A string value is a field without a name. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
  /** Absent: the key does not expire. */
  readonly ttlMs?: number | undefined;
  /** The waiters in Redis, next one first: buyers for a fair lock, processes for other locks. */
  readonly queue: readonly string[];
  /** The claims of the queue, by process. */
  readonly claims?: Readonly<Record<string, string>> | undefined;
  readonly token?: string | undefined;
}

/** A fault that the arena or a visitor has caused. */
export interface Struck {
  readonly kind: 'struck';
  readonly cell?: string | undefined;
  readonly process?: number | undefined;
  readonly what:
    | 'killed'
    | 'frozen'
    | 'thawed'
    | 'cut'
    | 'joined'
    | 'blocked'
    | 'unblocked'
    | 'lease-ended'
    | 'foreign-delete'
    | 'stale-refused'
    | 'redis-paused'
    | 'redis-resumed'
    | 'redis-restarted'
    | 'redis-failed-over';
}

/** The stock and the orders in the database. */
export interface BooksSeen {
  readonly kind: 'books';
  readonly product: string;
  readonly openingStock: number;
  readonly stock: number;
  /** Orders with a piece. */
  readonly orders: number;
  /** The number of orders in each state. */
  readonly states: Readonly<Partial<Record<OrderState, number>>>;
  /** Orders on record minus the sold pieces of the stock counter. */
  readonly difference: number;
}

/** The calls in a process that wait for the lock of the product. */
export interface WaitersSeen {
  readonly kind: 'waiters';
  readonly process: number;
  readonly waiting: number;
}

/** The shop serves now, and takes commands. */
export interface SaleOpened {
  readonly kind: 'sale-opened';
  readonly url: string;
  readonly product: string;
  readonly stock: number;
  /** The commands that the page may not give, each with its reason. */
  readonly forbidden: Readonly<Partial<Record<CommandKind, 'foreign-redis' | 'platform'>>>;
}

/** An order of the real sale has a new state. */
export interface OrderMoved {
  readonly kind: 'order';
  readonly order: string;
  readonly buyer: string;
  readonly state: string;
  readonly payUntil?: string | undefined;
}

/** One round of the reconciliation: the process, and the differences. */
export interface Reconciled {
  readonly kind: 'reconciled';
  readonly process: number;
  readonly differences: readonly string[];
}

/** A command of a visitor; the page sends it by POST. */
export type Command =
  | { readonly kind: 'kill' | 'freeze' | 'cut' | 'block'; readonly process: number }
  /** Those act on the process that holds the lock of the product at that moment. */
  | { readonly kind: 'kill-holder' | 'freeze-holder' }
  | { readonly kind: 'redis-pause' | 'redis-restart' | 'redis-fail-over' }
  | { readonly kind: 'buy'; readonly buyer: string }
  | { readonly kind: 'pay'; readonly buyer: string }
  | { readonly kind: 'robots'; readonly count: number }
  | { readonly kind: 'restock'; readonly stock: number }
  | { readonly kind: 'skip' };
export type CommandKind = Command['kind'];

/** Why the arena does not carry a command out. */
export type CommandRefusal =
  /** The Redis belongs to the visitor. */
  | 'foreign-redis'
  /** This operating system cannot do it. */
  | 'platform'
  | 'not-open'
  /** Another command is running. */
  | 'running'
  /** The process has ended. */
  | 'gone'
  /** The process has not recovered from an earlier fault. */
  | 'struck'
  /** No process holds the lock. */
  | 'no-holder'
  /** The lock of the product was not free for the new stock. */
  | 'stock-locked';
