import 'reflect-metadata';

import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { once } from 'node:events';
import { RedisLockModule } from 'nestjs-redis-lock';
import { report, serve } from '../support/worker.js';
import { Leader, LeaderWork } from './examples/recipes/leader.js';

const work: LeaderWork = {
  run: async (signal) => {
    report('leads');
    await once(signal, 'abort');
    report('ends');
  },
};

@Module({})
class App {}

const api = {
  start: async (connection: string, settings: object) => {
    const module = {
      module: App,
      imports: [RedisLockModule.forRoot({ connection, ...settings })],
      providers: [Leader, { provide: LeaderWork, useValue: work }],
    };
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    app.enableShutdownHooks();
  },
};
export type Api = typeof api;
serve(api);
