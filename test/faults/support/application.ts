import { Redis } from 'ioredis';
import type { LockEvent, LockSettings } from 'nestjs-redis-lock';
import { LockService } from '../../../libs/redis-lock/src/primitives/lock/lock-service.js';

import { LockContext } from '../../../libs/redis-lock/src/core/lock-context.js';
import type { Clock } from '../../../libs/redis-lock/src/core/time/clock.js';
import type { RedisConnection } from '../../../libs/redis-lock/src/core/redis/connection.js';
import { openOverClient } from '../../support/open-connection.js';

export interface ApplicationOptions {
  publish?: LockSettings['publish'];
  settings?: Partial<LockSettings>;
  clock?: Clock;
  onEvent?: (event: LockEvent) => void;
  /** Stands between the library and its adapter: the place of planted bugs. */
  decorate?: (connection: RedisConnection) => RedisConnection;
}

/** The application does not keep events that happen all the time. */
const EVERYDAY: ReadonlySet<LockEvent['type']> = new Set(['acquired', 'released', 'renewed']);

/** One instance of a service has these parts of the library. */
export interface Application {
  readonly locks: LockService;
  readonly context: LockContext;
  /** Every event that is out of the ordinary. */
  readonly events: readonly LockEvent[];
  close(): Promise<void>;
}

/** An application on whatever `connection` of the module may be. */
export function openApplication(
  connection: unknown,
  { publish, settings, clock, onEvent, decorate = (port) => port }: ApplicationOptions = {},
): Application {
  const events: LockEvent[] = [];
  const observer = {
    observe: (event: LockEvent) => {
      onEvent?.(event);
      if (!EVERYDAY.has(event.type)) events.push(event);
    },
  };
  const context = new LockContext(
    decorate(openOverClient(connection, undefined, publish)),
    { observer, ...settings },
    clock,
  );
  return {
    locks: new LockService(context),
    context,
    events,
    close: () => context.close(),
  };
}

/** A client as callers make it: ioredis' own defaults, and an error handler that is a logger's. */
export function callersClient(url: string): Redis {
  const client = new Redis(url);
  client.on('error', () => undefined);
  return client;
}
