import { NestFactory } from '@nestjs/core';
import { MurLock, MurLockModule, MurLockService } from 'murlock';
import * as main from 'murlock';
import { LEASE_MS, LONG_MS } from '../terms.mjs';

export const client = 'node-redis';
export const exported = [main];

/** The pause of its README. Given in the call, it does not grow from attempt to attempt. */
const WAIT_MS = 1_000;
const moduleAt = (/** @type {string} */ url) =>
  MurLockModule.forRoot({
    ...{ redisOptions: { url }, logLevel: 'none' },
    ...{ wait: WAIT_MS, maxAttempts: LONG_MS / WAIT_MS },
  });

function Root() {}

/** @param {string} url */
export async function open(url) {
  const module = { module: Root, imports: [moduleAt(url)] };
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  const locks = app.get(MurLockService);
  return {
    using: (key, work) => locks.runWithLock(key, LEASE_MS, work),
    acquire: (key) =>
      new Promise((granted, failed) => {
        const work = () =>
          new Promise((end) => granted({ handle: undefined, release: () => end(undefined) }));
        locks.runWithLock(key, LONG_MS, WAIT_MS, work).catch(failed);
      }),
    close: () => app.close(),
  };
}

export const nest = {
  module: moduleAt,
  /** Its key is the name of the class and the method. */
  decorator: () => MurLock(LEASE_MS),
};
