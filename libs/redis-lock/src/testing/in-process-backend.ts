import type { OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';

import type { Clock } from '../core/time/clock.js';
import { LockContext } from '../core/lock-context.js';
import type { LockSettings } from '../core/api/options.js';
import type { RedisConnection } from '../core/redis/connection.js';
import type { Backend, BackendConnection } from '../nest/backend.js';
import type { LockOperation } from './answers.js';
import { Elsewhere } from './elsewhere.js';
import { InProcessConnection } from './in-process-connection.js';
import { InProcessServer } from './in-process-server.js';
import { ManualClock } from './manual-clock.js';

/** Servers in this process for the locks of one application, one for each that it connects to. */
export class InProcessBackend implements Backend, OnModuleDestroy, OnApplicationShutdown {
  /** The contexts of the application. */
  readonly contexts: LockContext[] = [];
  readonly #elsewhere = new Map<LockContext, Elsewhere>();
  readonly #failures: { readonly operation: LockOperation; readonly error: Error }[] = [];

  constructor(readonly clock: Clock) {}

  connect(): BackendConnection {
    return new InProcessConnection(new InProcessServer(this.clock));
  }

  context(connection: RedisConnection, settings: Partial<LockSettings>): LockContext {
    // The other nodes of a red lock would outvote one that fails.
    if (connection instanceof InProcessConnection) {
      connection.failure = (operation) => this.#takeFailure(operation);
    }
    const context = new LockContext(connection, settings, this.clock);
    this.contexts.push(context);
    return context;
  }

  /** Another process beside this one of the application. */
  elsewhereOf(context: LockContext): Elsewhere {
    const elsewhere = this.#elsewhere.get(context) ?? new Elsewhere(context, this.clock);
    this.#elsewhere.set(context, elsewhere);
    return elsewhere;
  }

  /** The contexts of all other processes. */
  get others(): LockContext[] {
    return [...this.#elsewhere.values()].map(({ context }) => context);
  }

  failNext(operation: LockOperation, error: Error): void {
    this.#failures.push({ operation, error });
  }

  /** The operations of the test itself must not fail in place of the application's. */
  withoutFailures(work: () => void): void {
    const failures = this.#failures.splice(0);
    try {
      work();
    } finally {
      this.#failures.push(...failures);
    }
  }

  /** A shutdown that waits for holders must not wait for a test to advance the clock. */
  onModuleDestroy(): void {
    if (this.clock instanceof ManualClock) this.clock.run();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.others.map((context) => context.close()));
  }

  #takeFailure(operation: LockOperation): Error | undefined {
    const at = this.#failures.findIndex((failure) => failure.operation === operation);
    return at === -1 ? undefined : this.#failures.splice(at, 1)[0]?.error;
  }
}
