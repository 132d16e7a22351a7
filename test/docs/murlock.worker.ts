import 'reflect-metadata';

import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MurLockModule, MurLockService, type MurLockModuleOptions } from 'murlock';
import { setImmediate as turn } from 'node:timers/promises';
import { LockService, RedisLockModule } from 'nestjs-redis-lock';
import { serve } from '../support/worker.js';
import * as both from './examples/murlock/both.js';
import * as byHandBefore from './examples/murlock/by-hand.before.js';
import * as moduleAfter from './examples/murlock/module.after.js';
import * as moduleBefore from './examples/murlock/module.before.js';
import * as after from './examples/murlock/work.after.js';
import * as before from './examples/murlock/work.before.js';
import * as byHandAfter from './examples/redlock/by-hand.after.js';

/** Reading and writing take turns of the loop: a second caller inside would overwrite the pieces. */
class Shelf {
  pieces = 8;
  inside = 0;
  most = 0;
  entries = 0;
  open: () => void = () => undefined;
  #opened: Promise<void> = Promise.resolve();

  /** Every caller stays inside until `open()`. */
  shut(): void {
    this.#opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  async read(): Promise<number> {
    this.entries += 1;
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
    for (let i = 0; i < 5; i += 1) await turn();
    await this.#opened;
    return this.pieces;
  }

  async write(_: string, pieces: number): Promise<void> {
    await turn();
    this.pieces = pieces;
    this.inside -= 1;
  }
}

const SHOPS = { before: before.Shop, both: both.Shop, after: after.Shop };
type When = keyof typeof SHOPS;
const STOCKS = [before.Stock, both.Stock, after.Stock];

@Module({})
class App {}

let shelf = new Shelf();
let app: INestApplicationContext | undefined;
const get = <T>(token: (abstract new (...args: never[]) => T) | string): T => {
  if (app === undefined) throw new Error('it is not started');
  return app.get<T>(token);
};
const shop = (when: When) => get<before.Shop>(when);
const murLock = () => get(MurLockService);
const nameOf = (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`;
const outcomeOf = (call: Promise<unknown>) => call.then((value) => String(value), nameOf);

let calls: Promise<string>[] = [];

const api = {
  start: async (connection: string, options: Partial<MurLockModuleOptions> = {}) => {
    await api.close();
    shelf = new Shelf();
    const theirs = { wait: 1, maxAttempts: 1_000, logLevel: 'none' as const, ...options };
    const module = {
      module: App,
      imports: [
        MurLockModule.forRoot({ redisOptions: { url: connection }, ...theirs }),
        RedisLockModule.forRoot({ connection, keyPrefix: 'lock:', shutdownTimeoutMs: 100 }),
      ],
      providers: [
        ...Object.entries(SHOPS).map(([provide, useClass]) => ({ provide, useClass })),
        ...STOCKS.map((provide) => ({ provide, useValue: shelf })),
      ],
    };
    app = await NestFactory.createApplicationContext(module, { logger: false });
  },
  startAsShown: async (when: 'before' | 'after') => {
    const { AppModule } = when === 'before' ? moduleBefore : moduleAfter;
    app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    return when === 'before'
      ? murLock().runWithLock('a', 1_000, async () => 'inside')
      : get(LockService).using('a', () => 'inside');
  },
  close: async () => {
    await app?.close();
    app = undefined;
  },
  sell: (when: When) => Promise.all(Array.from({ length: 8 }, () => shop(when).sellOne('A'))),
  /** Three callers of each. */
  crowd: async (...whens: When[]) => {
    shelf.most = 0;
    shelf.entries = 0;
    const three = [...whens, ...whens, ...whens];
    await Promise.all(three.map((when) => shop(when).sell({ sku: 'A', pieces: 1 })));
    return { entries: shelf.entries, most: shelf.most };
  },
  refuse: (when: When) => outcomeOf(shop(when).sellOne(undefined as never)),
  importTwice: async (when: 'before' | 'after') => {
    let second: boolean | undefined;
    const run = (work: () => Promise<void>) =>
      when === 'before'
        ? byHandBefore.importOnce(murLock(), work)
        : byHandAfter.importOnce(get(LockService), work);
    const first = await run(async () => {
      second = await run(() => Promise.reject(new Error('both are inside')));
    });
    return [first, second];
  },
  /** Sells by both methods, and keeps inside who gets in. */
  shut: (when: When) => {
    shelf.shut();
    const begun = [shop(when).sellOne('A'), shop(when).sell({ sku: 'A', pieces: 1 })];
    calls = begun.map(outcomeOf);
  },
  inside: () => shelf.inside,
  open: () => {
    shelf.open();
    return Promise.all(calls);
  },
  /** Work that ends when `open` is called, by this error or by none. */
  hold: (key: string, ms: number, error?: string) => {
    shelf.shut();
    const work = async () => {
      shelf.pieces = await shelf.read();
      shelf.inside -= 1;
      if (error !== undefined) throw new Error(error);
    };
    calls = [outcomeOf(murLock().runWithLock(key, ms, work))];
  },
  enter: (key: string) => outcomeOf(murLock().runWithLock(key, 1_000, async () => 'inside')),
  nest: (key: string) => outcomeOf(murLock().runWithLock(key, 10_000, () => api.enter(key))),
  enterOurs: (key: string, waitTimeMs: number) =>
    outcomeOf(get(LockService).using(key, () => 'inside', { waitTimeMs })),
  nestOurs: (key: string) => outcomeOf(get(LockService).using(key, () => api.enterOurs(key, 0))),
  isReady: () =>
    (murLock() as unknown as { redisClient: { isReady: boolean } }).redisClient.isReady,
};
export type Api = typeof api;
serve(api);
