import type { OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';

import type { Clock } from '../core/time/clock.js';
import { LockConfigurationError } from '../core/api/errors.js';
import { LockContext } from '../core/lock-context.js';
import type { LockSettings } from '../core/api/settings.js';
import type { RedisConnection } from '../core/redis/connection.js';
import type { Backend, BackendConnection } from '../family/backend.js';
import { ManualClock } from './manual-clock.js';
import { InProcessConnection } from './server/in-process-connection.js';
import { RedisServer } from './server/redis-server.js';
import type { Lease } from '../core/api/lease.js';
import type { Lock } from '../core/api/lock.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import { QuorumConnection } from '../primitives/red-lock/quorum-connection.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';

/** The operations that a test can let fail. */
export type LockOperation = 'acquire' | 'release' | 'renew';

/** By the verb of a script's name. */
const OPERATIONS: readonly (readonly [RegExp, LockOperation])[] = [
  [/\.(acquire|drain)/, 'acquire'],
  [/\.(release|pass|change|count-down)/, 'release'],
  [/\.renew/, 'renew'],
];

/**
 * Servers in this process for the locks of one application: one for each server that it connects
 * to. Other applications can share them.
 */
export class InProcessBackend implements Backend, OnModuleDestroy, OnApplicationShutdown {
  /** The contexts of the application. */
  readonly contexts: LockContext[] = [];
  readonly #elsewhere = new Map<LockContext, Elsewhere>();
  /** By the name of the connection; those of a red lock in the order of its nodes. */
  readonly #servers = new Map<string, readonly RedisServer[]>();
  /** All open applications on these servers. */
  readonly #applications = new Set<InProcessBackend>();
  readonly #connections: InProcessConnection[] = [];
  #isCrashed = false;
  readonly #failures: { readonly operation: LockOperation; readonly error: Error }[] = [];

  /** @param beside shares its servers */
  constructor(
    readonly clock: Clock,
    beside?: InProcessBackend,
  ) {
    if (beside !== undefined) {
      this.#servers = beside.#servers;
      this.#applications = beside.#applications;
    }
  }

  /** @throws {LockConfigurationError} the application has crashed */
  connect(): BackendConnection {
    if (this.#isCrashed) {
      throw new LockConfigurationError(
        'This application has crashed: start it again as another one beside it',
      );
    }
    const connection = new InProcessConnection(new RedisServer(this.clock));
    this.#connections.push(connection);
    return connection;
  }

  context(connection: RedisConnection, settings: Partial<LockSettings>): LockContext {
    // The other nodes of a red lock would outvote one that fails.
    if (connection instanceof InProcessConnection) {
      connection.failure = (script) => this.#takeFailure(script);
    }
    const context = new LockContext(connection, settings, this.clock);
    this.#share(context);
    this.#applications.add(this);
    this.contexts.push(context);
    return context;
  }

  isBeside(other: InProcessBackend): boolean {
    return other.#servers === this.#servers;
  }

  /** The process of this application is gone, and Redis does not know it yet. */
  crash(): void {
    this.#isCrashed = true;
    for (const connection of this.#connections) connection.crash();
  }

  /** Another process beside this one of the application. */
  elsewhereOf(context: LockContext): Elsewhere {
    const elsewhere = this.#elsewhere.get(context) ?? new Elsewhere(context, this.clock);
    this.#elsewhere.set(context, elsewhere);
    return elsewhere;
  }

  /** The contexts of all other processes. */
  get others(): LockContext[] {
    return [...this.#applications].flatMap((one) => [
      ...(one === this ? [] : one.contexts),
      ...one.#holdersElsewhere,
    ]);
  }

  get #holdersElsewhere(): LockContext[] {
    return [...this.#elsewhere.values()].map(({ context }) => context);
  }

  failNext(operation: LockOperation, error: Error): void {
    this.#failures.push({ operation, error });
  }

  /** The test's own operations fail for no application, and reach Redis from a crashed one. */
  byTest(work: () => void): void {
    const resumptions = [...this.#applications].map((one) => one.#suspend());
    try {
      work();
    } finally {
      for (const resume of resumptions) resume();
    }
  }

  #suspend(): () => void {
    const failures = this.#failures.splice(0);
    for (const one of this.#connections) one.isGone = false;
    return () => {
      this.#failures.push(...failures);
      for (const one of this.#connections) one.isGone = this.#isCrashed;
    };
  }

  onModuleDestroy(): void {
    this.runUntil(Promise.all(this.#connections.map(({ closed }) => closed)));
  }

  /** A shutdown that waits for holders must not wait for a test to advance the clock. */
  runUntil(end: Promise<unknown>): void {
    if (this.clock instanceof ManualClock) this.clock.run(end);
    if (this.#isCrashed) this.#forget();
  }

  get isOpen(): boolean {
    return this.#connections.some(({ isUp }) => isUp);
  }

  async onApplicationShutdown(): Promise<void> {
    this.#applications.delete(this);
    await Promise.all(this.#holdersElsewhere.map((context) => context.close()));
  }

  /** The holders of a crashed process need no time. */
  #forget(): void {
    for (const { holds } of this.contexts) {
      for (const hold of holds.all) holds.lose(hold, 'gone');
    }
  }

  #share({ connection, settings }: LockContext): void {
    const isRed = connection instanceof QuorumConnection;
    const nodes = (isRed ? connection.nodes.map((node) => node.connection) : [connection]).filter(
      (node) => node instanceof InProcessConnection,
    );
    const name = `${isRed ? 'red lock of ' : ''}${settings.name}`;
    const servers = this.#servers.get(name) ?? nodes.map(({ server }) => server);
    this.#servers.set(name, servers);
    for (const [i, node] of nodes.entries()) node.server = servers[i] ?? node.server;
  }

  #takeFailure(script: string): Error | undefined {
    if (this.#failures.length === 0) return undefined;
    const [, operation] = OPERATIONS.find(([verb]) => verb.test(script)) ?? [];
    const at = this.#failures.findIndex((failure) => failure.operation === operation);
    return at === -1 ? undefined : this.#failures.splice(at, 1)[0]?.error;
  }
}

/** A kind of lock, or permits of a semaphore. */
export type HoldKind = 'lock' | 'fair' | 'read' | 'write' | 'red' | 'semaphore';

/** A holder in another process. */
export interface ElsewhereOptions {
  /** @default 'lock' */
  readonly kind?: HoldKind;
  /** The lease ends by itself after this time (ms). Omitted: it is renewed until it is released. */
  readonly leaseTimeMs?: number;
  /**
   * How many permits of a semaphore.
   * @default all that are free
   */
  readonly permits?: number;
}

/** Another process, as the locks see it, on the servers of one connection. */
export class Elsewhere {
  readonly context: LockContext;
  readonly #connection: RedisConnection;

  constructor(of: LockContext, clock: Clock) {
    this.#connection = beside(of.connection, clock);
    const { name, keyPrefix, watchdogLeaseMs } = of.settings;
    this.context = new LockContext(this.#connection, { name, keyPrefix, watchdogLeaseMs }, clock);
  }

  /** @throws {LockTimeoutError} another owner holds it */
  async hold(
    name: string,
    { kind = 'lock', leaseTimeMs, permits }: ElsewhereOptions,
  ): Promise<Lease> {
    const options = { waitTimeMs: 0, leaseTimeMs };
    if (kind !== 'semaphore') return this.#lockOf(kind, name).acquire(options);
    const semaphore = new SemaphoreService(this.context).get(name);
    const all = Math.max(1, await semaphore.availablePermits());
    return semaphore.acquire({ ...options, permits: permits ?? all });
  }

  #lockOf(kind: Exclude<HoldKind, 'semaphore'>, name: string): Lock {
    const { context } = this;
    switch (kind) {
      case 'lock':
        return new LockService(context).get(name);
      case 'fair':
        return new FairLockService(context).get(name);
      case 'read':
      case 'write':
        return new ReadWriteLockService(context).get(name)[kind];
      case 'red':
        return new RedLockService(context, this.#connection as QuorumConnection).get(name);
    }
  }
}

/** Another connection to the same servers. */
function beside(connection: RedisConnection, clock: Clock): RedisConnection {
  if (connection instanceof QuorumConnection) {
    const { nodes, longestLeaseMs } = connection;
    const others = nodes.map((node) => beside(node.connection, clock));
    return new QuorumConnection(others, { longestLeaseMs, clock });
  }
  return new InProcessConnection((connection as InProcessConnection).server);
}
