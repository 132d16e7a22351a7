import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';

import { LockConfigurationError, LockError, quoteName } from '../../core/api/errors.js';
import { LockMonitor, type LockStatus } from '../../primitives/monitor/lock-monitor.js';
import { checkObject, refuseUnknown } from '../../core/api/refuse.js';
import { forRootOf, getLockServiceToken } from '../../nest/service-tokens.js';

/** The connection to check, and its time limit. */
export interface LockHealthOptions {
  /**
   * The name of the connection.
   * @default 'default'
   */
  readonly connection?: string | undefined;
  /**
   * How long Redis may take to answer, in milliseconds.
   * @default 1000
   */
  readonly timeoutMs?: number | undefined;
}

/** The health of a connection. Many read it, so it names no client. */
export interface LockHealth extends Partial<Omit<LockStatus, 'clients'>> {
  /** How long Redis took to answer, in milliseconds. */
  readonly pingMs?: number;
  /** The reason why it is down. */
  readonly message?: string;
}

/**
 * Reports to `@nestjs/terminus` whether locks can be acquired. Use it for readiness only: a restart
 * while Redis is away drops the locks, and does not bring Redis back.
 */
@Injectable()
export class LockHealthIndicator {
  /** @internal */
  constructor(
    @Inject(HealthIndicatorService) private readonly health: HealthIndicatorService,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
  ) {}

  /**
   * Resolves with `up` when Redis runs a script that writes, and has confirmed what this process
   * holds. Otherwise resolves with `down` and the reason. Never rejects.
   */
  async isHealthy<const Key extends string>(
    key: Key,
    options: LockHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key, 'up' | 'down', LockHealth & Record<string, unknown>>> {
    const check = this.health.check(key);
    let monitor: LockMonitor | undefined;
    try {
      refuseOptions(options);
      const { connection, timeoutMs } = options;
      monitor = this.#monitorOf(connection);
      const pingMs = Math.ceil(await monitor.ping(timeoutMs));
      const status = statusOf(monitor);
      if (status.suspect === 0) return check.up({ pingMs, ...status });
      return check.down({ message: unconfirmed(status), pingMs, ...status });
    } catch (error) {
      // Only the messages of this library are known to contain no secret.
      const message = error instanceof LockError ? error.message : 'The check itself failed';
      return check.down({ message, ...(monitor && statusOf(monitor)) });
    }
  }

  #monitorOf(connection: string | undefined): LockMonitor {
    try {
      return this.modules.get<LockMonitor>(getLockServiceToken(LockMonitor, connection), {
        strict: false,
      });
    } catch (cause) {
      const name = connection ?? 'default';
      throw new LockConfigurationError(
        `There is no connection ${quoteName(name)}: import ${forRootOf(name)}`,
        { cause },
      );
    }
  }
}

function refuseOptions(options: unknown): void {
  const from = 'LockHealthIndicator.isHealthy()';
  checkObject(from, options);
  refuseUnknown(options, ['connection', 'timeoutMs'], from);
}

function statusOf(monitor: LockMonitor): Omit<LockStatus, 'clients'> {
  const { connection, isUp, isHearing, held, suspect, waiting } = monitor.status();
  return { connection, isUp, isHearing, held, suspect, waiting };
}

function unconfirmed({ suspect, held }: Pick<LockStatus, 'suspect' | 'held'>): string {
  return (
    `Redis has not confirmed ${String(suspect)} of ${String(held)} holds in time: they expire ` +
    'unless a renewal succeeds'
  );
}
