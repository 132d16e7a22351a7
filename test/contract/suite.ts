import { expect } from '@jest/globals';
import type { AcquireOptions, Lease } from 'nestjs-redis-lock/core';
import type { NamedLocks } from '../../libs/redis-lock/src/core/named-locks.js';
import { eventually } from '../support/eventually.js';
import type { OpenLocks } from '../support/lock-client.js';
import type { RedisFixture } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';
export { stallProcess } from '../support/virtual-time.js';

/** Every kind of lock offers these methods. */
export interface LockVerbs extends Pick<NamedLocks, 'get'> {
  acquire(name: string, options?: AcquireOptions): Promise<Lease>;
  tryAcquire(name: string, options?: AcquireOptions): Promise<Lease | null>;
  using<T>(name: string, work: (lease: Lease) => T, options?: AcquireOptions): Promise<Awaited<T>>;
}

/** The specs of the behaviour suites control the server behind the locks by this, and look at it. */
export interface Stage {
  /** The server answers no client until `resume`; then it runs the commands that came meanwhile. */
  pause(): void;
  resume(): void;
  /** The commands that reached the server during the work; `{}` is none. */
  commandsDuring(work: () => unknown): Promise<Readonly<Partial<Record<string, number>>>>;
  /** One for each key that is waited for. */
  wakeUpChannels(): Promise<string[]>;
  readonly admin: {
    ping(): Promise<unknown>;
    get(key: string): Promise<string | null>;
    set(key: string, value: number): Promise<unknown>;
    incrby(key: string, more: number): Promise<number>;
    exists(...keys: string[]): Promise<number>;
    del(...keys: string[]): Promise<number>;
    pexpire(key: string, ms: number): Promise<unknown>;
    flushall(): Promise<unknown>;
  };
}

/** The specs of the behaviour suites need these parts of a primitive. */
export interface LockSuite {
  readonly redis: Stage;
  /** Another client of the primitive, as another process would be. */
  readonly open: OpenLocks<LockVerbs>;
  /** A client of what a shared lock excludes; an exclusive lock excludes its own kind. */
  readonly openRival?: OpenLocks<LockVerbs>;
  /** How long a waiter that vanishes may stop those behind it; 0. */
  readonly deadWaiterMs?: number;
  /** It waits for no answer for longer than a part of the lease. */
  readonly isHeardInTime?: boolean;
  /** Lets time pass in which no timer can run. */
  readonly stall?: (ms: number) => void;
}

/** The suites that look into a real server, or cut its clients off. */
export interface ServerSuite extends LockSuite {
  readonly redis: RedisFixture;
}

/** Five times what the library promises on an idle machine. */
export const PROMPT_MS = 5 * 50;

/** How long the caller waits for a lease, which is held then; it is released. */
export async function msUntil(waiting: Promise<Lease>): Promise<number> {
  const stopwatch = new Stopwatch();
  const lease = await waiting;
  const { ms } = stopwatch;
  lease.assertHeld();
  await lease.release();
  return ms;
}

/** So many answers of Redis: a caller that could go on has gone on by then. */
export async function roundTrips(redis: Stage, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await redis.admin.ping();
}

/** Resolves so long after whatever was asked for until now was sent, which it is in the same turn. */
export async function afterSending(ms: number): Promise<void> {
  await new Promise(setImmediate);
  const sentAt = performance.now();
  await eventually(() => performance.now() - sentAt > ms);
}

/** A critical section that knows how many were in it at once. */
export class Section {
  entries = 0;
  most = 0;
  #inside = 0;

  async run<T>(work: () => T): Promise<Awaited<T>> {
    this.entries += 1;
    this.#inside += 1;
    this.most = Math.max(this.most, this.#inside);
    try {
      return await work();
    } finally {
      this.#inside -= 1;
    }
  }
}

/** Resolves once the server knows the scripts of a lock that is taken, waited for and handed on. */
export async function warmUp(locks: LockVerbs): Promise<void> {
  const first = await locks.acquire('warm');
  const second = locks.acquire('warm');
  await first.release();
  await (await second).release();
}

/** So many callers of one process, who ask in one turn, get in in their order, one at a time. */
export async function expectOrder(locks: LockVerbs, count: number): Promise<void> {
  const section = new Section();
  const served: number[] = [];
  const callers = Array.from({ length: count }, (_, i) =>
    locks.using('a', () => section.run(() => served.push(i)), { waitTimeMs: 60_000 }),
  );
  await Promise.all(callers);
  expect(served).toEqual(Array.from({ length: count }, (_, i) => i));
  expect(section.most).toBe(1);
}

export interface Watched<T> {
  readonly promise: Promise<T>;
  readonly state: 'pending' | 'resolved' | 'rejected';
}

/** A promise whose state can be seen; its rejection counts as handled. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched = { promise, state: 'pending' as Watched<T>['state'] };
  promise.then(
    () => {
      watched.state = 'resolved';
    },
    () => {
      watched.state = 'rejected';
    },
  );
  return watched;
}

/** Something that others wait for until it is opened. */
export class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}
