import type { Type } from '@nestjs/common';
import { Redis } from 'ioredis';
import { ControlledGate } from '../../apps/seckill-demo/src/arena/controlled-gate.js';
import type { Fleet, Member } from '../../apps/seckill-demo/src/arena/fleet.js';
import { DATABASE } from '../../apps/seckill-demo/src/database/open-database.js';
import type { Database } from '../../apps/seckill-demo/src/database/tables.js';
import { createHttpApp } from '../../apps/seckill-demo/src/http-app.js';
import type { GatePoint } from '../../apps/seckill-demo/src/seckill/gate.js';
import { tutorialLog } from '../../apps/seckill-demo/src/seckill/sale-log.js';
import type { Settings } from '../../apps/seckill-demo/src/settings.js';
import { startPostgresServer } from '../../scripts/postgres-server.mjs';
import { startRedisServer } from '../../scripts/redis-server.mjs';

export interface LocalShop {
  readonly fleet: Fleet;
  readonly redis: Redis;
  readonly database: Database;
  /** A provider of the application. */
  readonly get: <T>(type: Type<T>) => T;
  /** The tutorial's log lines, in the order in which the shop wrote them. */
  readonly lines: string[];
  /** Ends a server as a crash would. */
  killRedis(): Promise<void>;
  killPostgres(): Promise<void>;
  close(): Promise<void>;
}

/** The real application in this process, on servers of its own, as a fleet of one. */
export async function openLocalShop(settings: Partial<Settings> = {}): Promise<LocalShop> {
  const [server, postgres] = await Promise.all([startRedisServer(), startPostgresServer()]);
  const redis = new Redis(server.url);
  const lines: string[] = [];
  const member = new LocalMember();
  const app = await createHttpApp(
    {
      redisUrl: server.url,
      databaseUrl: postgres.url,
      databaseSchema: 'public',
      keyPrefix: '',
      leaseTimeMs: 30_000,
      waitTimeMs: 10_000,
      realSale: false,
      payWithinMs: 60_000,
      port: 0,
      logLevel: 'off',
      ...settings,
    },
    { gate: member.gate, saleLog: tutorialLog((line) => lines.push(line)) },
  );
  await app.listen(0, '127.0.0.1');
  return {
    fleet: {
      url: await app.getUrl(),
      members: [member],
      onHeld: (listener) => member.onHeld(listener),
      refill: () => Promise.resolve(),
    },
    redis,
    database: app.get<Database>(DATABASE),
    get: (type) => app.get(type),
    lines,
    killRedis: () => server.kill(),
    killPostgres: () => postgres.kill(),
    close: async () => {
      await app.close();
      redis.disconnect();
      await Promise.all([server.stop(), postgres.stop()]);
    },
  };
}

class LocalMember implements Member {
  readonly pid = process.pid;
  readonly #held = new Map<GatePoint, number>();
  readonly #listeners = new Set<() => void>();
  readonly gate = new ControlledGate((point) => {
    this.#held.set(point, this.held(point) + 1);
    for (const listener of this.#listeners) listener();
  });

  onHeld(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  closeGate(point: GatePoint, count: number): Promise<void> {
    this.#held.set(point, 0);
    this.gate.close(point, count);
    return Promise.resolve();
  }

  openGate(point: GatePoint): void {
    this.gate.open(point);
  }

  held(point: GatePoint): number {
    return this.#held.get(point) ?? 0;
  }

  kill(): Promise<void> {
    throw new Error('this process is the test itself');
  }

  freeze(): Promise<void> {
    throw new Error('this process is the test itself');
  }

  thaw(): void {
    throw new Error('this process is the test itself');
  }
}
