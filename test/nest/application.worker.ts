import 'reflect-metadata';

import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { CronLock, CurrentLock, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { report, serve } from '../support/worker.js';

@Injectable()
class Jobs {
  @CronLock('slots', { per: 'hour' })
  async hourly(): Promise<void> {
    await this.hold();
  }

  @WithLock('job')
  async hold(): Promise<never> {
    report('held');
    const { signal } = CurrentLock.lease();
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('told'));
      });
    });
  }
}

/** Counts in Redis what was begun and what was ended: a process that is killed says nothing any more. */
@Injectable()
class Crowd {
  counts: Redis | undefined;

  @WithLock('crowd_<0>')
  async work(key: number): Promise<void> {
    await this.counts?.hincrby('counts', 'begun', 1);
    await delay(2 + (key % 3));
    CurrentLock.lease().assertHeld();
    await this.counts?.hincrby('counts', 'ended', 1);
  }

  /** Calls until it is refused. */
  async insist(key: number): Promise<never> {
    for (;;) await this.work(key);
  }
}

@Module({})
class App {}

let app: INestApplicationContext | undefined;

const api = {
  start: async (connection: string, withHooks: boolean, shutdownTimeoutMs = 100) => {
    const locks = RedisLockModule.forRoot({ connection, shutdownTimeoutMs });
    const module = { module: App, imports: [locks], providers: [Jobs, Crowd] };
    app = await NestFactory.createApplicationContext(module, { logger: false });
    if (withHooks) app.enableShutdownHooks();
  },
  /** A holder and a waiter, which ends with the application. */
  load: () => {
    for (let i = 0; i < 2; i += 1) {
      app
        ?.get(Jobs)
        .hold()
        .catch((error: unknown) => {
          report((error as Error).name);
        });
    }
  },
  crowd: (connection: string, callers: number, keys: number) => {
    const crowd = app?.get(Crowd);
    if (crowd === undefined) throw new Error('it is not started');
    crowd.counts = new Redis(connection);
    for (let i = 0; i < callers; i += 1) {
      crowd.insist(i % keys).catch((error: unknown) => {
        report((error as Error).name);
      });
    }
  },
  /** Begins a job in the slot of this time. */
  runAt: (time: string) => {
    const { now } = Date;
    const aheadMs = Date.parse(time) - now();
    Date.now = () => now() + aheadMs;
    void app?.get(Jobs).hourly();
  },
  close: () => app?.close(),
  failToInit: async (connection: string) => {
    const locks = RedisLockModule.forRoot({ connection });
    const redLock = { nodes: [connection, connection, connection] };
    const broken = RedisLockModule.forRoot({ name: 'broken', connection, redLock });
    const module = { module: App, imports: [locks, broken] };
    await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  },
  failToStart: async (connection: string) => {
    const locks = RedisLockModule.forRoot({ connection });
    const broken = { provide: 'X', useFactory: () => Promise.reject(new Error('no X')) };
    const module = { module: App, imports: [locks], providers: [broken] };
    await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  },
};
export type Api = typeof api;
serve(api);
