import 'reflect-metadata';

import {
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { once } from 'node:events';
import { LockService, RedisLockModule } from 'nestjs-redis-lock';
import { report, serve } from '../support/worker.js';
import { lead } from './examples/recipes/leader.js';

async function work(signal: AbortSignal): Promise<void> {
  report('leads');
  await once(signal, 'abort');
  report('ends');
}

@Injectable()
class Leader implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly end = new AbortController();
  private ended = Promise.resolve();

  constructor(private readonly locks: LockService) {}

  onApplicationBootstrap(): void {
    this.ended = lead(this.locks, work, this.end.signal);
  }

  async onModuleDestroy(): Promise<void> {
    this.end.abort();
    await this.ended;
  }
}

@Module({})
class App {}

const api = {
  start: async (connection: string, settings: object) => {
    const module = {
      module: App,
      imports: [RedisLockModule.forRoot({ connection, ...settings })],
      providers: [Leader],
    };
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    app.enableShutdownHooks();
  },
};
export type Api = typeof api;
serve(api);
