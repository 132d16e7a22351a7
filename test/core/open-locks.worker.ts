import { openLocks, type LockFamily, type OpenLocksOptions } from 'nestjs-redis-lock/core';
import { report, serve } from '../support/worker.js';

let locks: LockFamily;

const tell = (error: unknown) => {
  report((error as Error).name);
};

const api = {
  open: (options: OpenLocksOptions) => {
    locks = openLocks(options);
  },
  /** A holder, which goes on until its lock is taken from it, and a waiter. */
  load: (name: string) => {
    const hold = async () =>
      locks.lock.using(name, async ({ signal }) => {
        report('held');
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
      });
    for (let i = 0; i < 2; i += 1) hold().catch(tell);
  },
  acquireRed: (name: string) => {
    locks.red.acquire(name).catch(tell);
  },
  close: () => locks.close(),
  closeOnSignal: () => {
    process.once('SIGTERM', () => {
      void locks.close().then(() => {
        report('closed');
      });
    });
  },
};
export type Api = typeof api;
serve(api);
