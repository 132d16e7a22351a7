import 'reflect-metadata';

import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockService, RedisLockModule, WithLock } from '../../libs/redis-lock/dist/esm/index.js';
import { HOST } from '../terms.mjs';

export const label = '@WithLock';

/** A lock that takes no time: the only cost is the decorator. */
const noLocks = { using: async (_name, work) => work() };

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its metadata are its content
class App {}
Module({})(App);

/** A class with this number of methods, as the compiler makes it from decorated source. */
function classOf(methods, isDecorated) {
  // eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its methods come later
  class Shop {}
  for (let i = 0; i < methods; i++) {
    const descriptor = {
      configurable: true,
      writable: true,
      value: async (id) => id,
    };
    const name = `buy${i}`;
    Reflect.defineMetadata('design:returntype', Promise, Shop.prototype, name);
    Reflect.defineMetadata('design:paramtypes', [String], Shop.prototype, name);
    if (isDecorated) WithLock('product_<0>')(Shop.prototype, name, descriptor);
    Object.defineProperty(Shop.prototype, name, descriptor);
  }
  Injectable()(Shop);
  return Shop;
}

async function boot({ port }, providers) {
  const locks = RedisLockModule.forRoot({ connection: `redis://${HOST}:${port}` });
  const module = { module: App, imports: [locks], providers };
  return NestFactory.createApplicationContext(module, { logger: false });
}

/** @param {import('../terms.mjs').Terms} terms */
export async function create(terms) {
  const Shop = classOf(1, true);
  const app = await boot(terms, [Shop, { provide: LockService, useValue: noLocks }]);
  const shop = app.get(Shop);
  return {
    decorated: (id) => shop.buy0(id),
    byHand: (id) => noLocks.using(`product_${id}`, async () => id),
    /**
     * Defines this number of classes and starts an application with them. Resolves with the CPU time
     * in ms.
     */
    async boots(classes, methods, isDecorated) {
      const from = process.cpuUsage();
      const all = Array.from({ length: classes }, () => classOf(methods, isDecorated));
      const started = await boot(terms, all);
      const { user, system } = process.cpuUsage(from);
      await started.close();
      return (user + system) / 1e3;
    },
  };
}
