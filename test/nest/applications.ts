import { afterEach } from '@jest/globals';
import { Module, type INestApplication, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockService, RedisLockModule, type RedisLockModuleOptions } from 'nestjs-redis-lock';
import { eventually } from '../support/eventually.js';
import { expectNothingLeft } from '../support/lock-client.js';
import type { RedisFixture } from '../support/redis-server.js';

/** A running application, as a user of the library writes it. */
export class RunningApp {
  constructor(
    readonly nest: INestApplication,
    readonly url: string,
  ) {}

  get locks(): LockService {
    return this.nest.get(LockService);
  }

  request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.url}${path}`, init);
  }
}

export interface Applications {
  start(metadata: ModuleMetadata, options?: RedisLockModuleOptions): Promise<RunningApp>;
  /** Ends with the spec, if it does not end before. */
  add(nest: INestApplication): Promise<RunningApp>;
}

/** Connections that fetch keeps for later would delay the end by seconds. */
export const SILENT = { logger: false, abortOnError: false, forceCloseConnections: true } as const;

@Module({})
class App {}

/**
 * Starts applications for the specs of a file. After each of them they are closed, and the spec
 * fails if a lock, a subscription or a connection of ours is left.
 */
export function useApplications(redis: RedisFixture): Applications {
  const running = new Set<INestApplication>();

  afterEach(async () => {
    const apps = [...running];
    running.clear();
    await Promise.all(apps.map((app) => app.close()));
    await eventually(() => expectNothingLeft(redis));
  });

  const add = async (nest: INestApplication): Promise<RunningApp> => {
    running.add(nest);
    await nest.listen(0, '127.0.0.1');
    return new RunningApp(nest, await nest.getUrl());
  };

  return {
    add,
    async start({ imports = [], ...metadata }, options = {}) {
      const locks = RedisLockModule.forRoot({ connection: redis.connection, ...options });
      const module = { module: App, imports: [locks, ...imports], ...metadata };
      const app = await add(await NestFactory.create(module, SILENT));
      // A spec counts commands only after those of the start.
      if (!('connection' in options))
        await eventually(async () => (await redis.admin.keys('nestjs_client:*')).length > 0);
      return app;
    },
  };
}
