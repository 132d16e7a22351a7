import { afterEach, expect } from '@jest/globals';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { LockEvent } from '../../libs/redis-lock/src/core/api/observer.js';
import type { RedisConnection, Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { InProcessConnection } from '../../libs/redis-lock/src/testing/server/in-process-connection.js';
import { RedisServer } from '../../libs/redis-lock/src/testing/server/redis-server.js';
import type { Stage } from '../contract/suite.js';
import { eventually } from './eventually.js';
import type { LockClient, LockClientOptions, OpenLocks } from './lock-client.js';
import { PassThrough } from './pass-through.js';

/** The contract specs control the in-process server by this, as they control Redis elsewhere. */
export class InProcessStage implements Stage {
  readonly server: RedisServer;
  #resumed: Promise<void> | undefined;
  #resume: () => void = () => undefined;
  #counts: Partial<Record<string, number>> = {};
  #stalledMs = 0;
  readonly clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + this.#stalledMs,
    wall: () => systemClock.wall() + this.#stalledMs,
  };

  constructor() {
    this.server = new RedisServer(this.clock);
  }

  /** Time passes, and no timer runs. */
  readonly stall = (ms: number): void => {
    this.#stalledMs += ms;
  };

  /** Nothing is in it any more. */
  clear(): void {
    this.server.store.clear();
  }

  pause(): void {
    this.#resumed ??= new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resume(): void {
    this.#resumed = undefined;
    this.#resume();
  }

  async commandsDuring(work: () => unknown) {
    this.#counts = {};
    await work();
    return { ...this.#counts };
  }

  wakeUpChannels(): Promise<string[]> {
    const { channels } = this.server;
    return Promise.resolve(channels.filter((channel) => !/^nestjs_|:nodes$/.test(channel)));
  }

  /** Another client of the server, as that of another process is. */
  connect(clock: Clock): RedisConnection {
    const counts = () => this.#counts;
    const resumed = () => this.#resumed;
    return new (class extends PassThrough {
      protected override async around<R>(_: string, run: () => Promise<Reply<R>>) {
        const sentAt = clock.now();
        const sent = counts();
        sent.evalsha = (sent.evalsha ?? 0) + 1;
        const waiting = resumed();
        if (waiting === undefined) return run();
        await waiting;
        return { ...(await run()), sentAt };
      }
    })(new InProcessConnection(this.server));
  }

  readonly admin = {
    // Time passes on the way.
    ping: () => new Promise((resolve) => setTimeout(resolve, 1)),
    get: (key: string) => this.#command<string | null>('get', key),
    set: (key: string, value: number) => this.#command('set', key, value),
    incrby: (key: string, more: number) => this.#command<number>('incrby', key, more),
    exists: (...keys: string[]) => this.#command<number>('exists', ...keys),
    del: (...keys: string[]) => this.#command<number>('del', ...keys),
    pexpire: (key: string, ms: number) => this.#command('pexpire', key, ms),
    flushall: () => Promise.resolve(),
  };

  #command<R>(name: string, ...args: (string | number)[]): Promise<R> {
    return Promise.resolve(this.server.command(name, args.map(String)) as R);
  }
}

/**
 * As `useLocks`, without Redis.
 * @param over what stands before the connection
 */
export function useInProcessLocks<Locks>(
  stage: InProcessStage,
  serviceOf: (context: LockContext) => Locks,
  over: (connection: RedisConnection, clock: Clock) => RedisConnection = (connection) => connection,
): OpenLocks<Locks> {
  const opened = new Set<LockClient<Locks>>();

  afterEach(async () => {
    stage.resume();
    const clients = [...opened];
    opened.clear();
    await Promise.all(clients.map((client) => client.close()));
    await eventually(() => {
      expect(stage.server.channels).toEqual([]);
    });
    stage.clear();
  });

  return ({ clock = stage.clock, ...options }: LockClientOptions = {}) => {
    const { connection: _connection, publish: _publish, observer: next, ...settings } = options;
    const events: LockEvent[] = [];
    const observer = {
      observe: (event: LockEvent) => {
        events.push(event);
        void next?.observe(event);
      },
    };
    const connection = over(stage.connect(clock), clock);
    const context = new LockContext(connection, { ...settings, observer }, clock);
    const client: LockClient<Locks> = {
      locks: serviceOf(context),
      context,
      connection,
      events,
      eventsOf: (type) => events.filter((event) => event.type === type) as never,
      close: () => context.close(),
    };
    opened.add(client);
    return client;
  };
}
