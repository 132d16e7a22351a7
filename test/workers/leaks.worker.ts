import { LockService } from 'nestjs-redis-lock';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { openIoredisConnection } from '../../libs/redis-lock/src/ioredis/ioredis-connection.js';
import { serve } from '../support/worker.js';

/** Callers side by side. */
const TOGETHER = 100;

let context: LockContext;
let locks: LockService;

/** What a process holds on to, after everything that can go has gone. */
async function footprint() {
  // Clean-ups and finalisers run between collections.
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await new Promise(setImmediate);
  }
  const resources = process.getActiveResourcesInfo();
  return {
    heapUsed: process.memoryUsage().heapUsed,
    timers: resources.filter((resource) => resource === 'Timeout').length,
    sockets: resources.filter((resource) => resource === 'TCPSocketWrap').length,
  };
}

/** Each caller gives up in one of the ways to do so. */
async function abandon(cycles: number, name: (i: number) => string) {
  for (let done = 0; done < cycles; done += TOGETHER) {
    const aborts = Array.from({ length: TOGETHER }, () => new AbortController());
    const callers = aborts.map(({ signal }, i) =>
      locks.acquire(name(done + i), { signal, waitTimeMs: 60_000 }),
    );
    const outcomes = Promise.allSettled(callers);
    if (done % (2 * TOGETHER) === 0) await new Promise(setImmediate);
    for (const abort of aborts) abort.abort();
    for (const outcome of await outcomes) {
      if (outcome.status === 'fulfilled') await outcome.value.release();
    }
  }
}

const api = {
  open: (url: string) => {
    context = new LockContext(openIoredisConnection(url));
    locks = new LockService(context);
  },
  footprint,
  /** Waiters of locks that are held all the time. */
  wait: (cycles: number) => abandon(cycles, (i) => `held:${i % 10}`),
  /** Attempts on names that nobody has ever used. */
  names: (cycles: number, from: number) => abandon(cycles, (i) => `free:${from + i}`),
  take: async (cycles: number) => {
    const take = (name: string) =>
      locks.using(name, () => locks.using(name, (lease) => lease.signal.aborted));
    for (let done = 0; done < cycles; done += TOGETHER) {
      await Promise.all(Array.from({ length: TOGETHER }, (_, i) => take(`mine:${done + i}`)));
    }
  },
  close: () => context.close(),
};
export type Api = typeof api;
serve(api);
