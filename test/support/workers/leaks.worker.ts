import { AsyncLocalStorage } from 'node:async_hooks';
import { LatchService } from '../../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { LockService } from '../../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { SemaphoreService } from '../../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { LockContext } from '../../../libs/redis-lock/src/core/lock-context.js';
import { openOverClient, prepareConnection } from '../open-connection.js';
import { serve } from '../worker.js';

/** Callers side by side. */
const TOGETHER = 100;

let context: LockContext;
let locks: LockService;
/** Another client, which has the locks that are refused. */
let rival: LockContext;
let rivals: LockService;
let services: ReturnType<typeof servicesOf>;
let requests: Awaited<ReturnType<typeof inRequests>>;

const servicesOf = (on: LockContext) => ({
  fair: new FairLockService(on),
  readWrite: new ReadWriteLockService(on),
  semaphores: new SemaphoreService(on),
  latches: new LatchService(on),
});

/** The process holds on to this, after everything that can go has gone. */
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

/** Does it once for each name; no name is ever used again. */
async function forNames(cycles: number, from: number, work: (name: string) => Promise<unknown>) {
  for (let done = 0; done < cycles; done += TOGETHER) {
    const names = Array.from({ length: TOGETHER }, (_, i) => `new:${from + done + i}`);
    await Promise.all(names.map(work));
  }
}

/** The lock is busy for one that tries, one that runs out of time, and one that gives up. */
async function refuse(name: string) {
  const lease = await rivals.acquire(name);
  const abort = new AbortController();
  const refused = Promise.allSettled([
    locks.tryAcquire(name),
    locks.acquire(name, { waitTimeMs: 2 }),
    locks.acquire(name, { signal: abort.signal }),
  ]);
  await new Promise((resolve) => setTimeout(resolve, 4));
  abort.abort();
  await refused;
  await lease.release();
}

/** Every other kind of lock is taken and released; of semaphores there are no permits. */
async function takeAll(name: string) {
  const { read, write } = services.readWrite.get(`rw:${name}`);
  await services.fair.using(`fair:${name}`, () => undefined);
  await write.using(() => read.using(() => undefined));
  await read.using(() => undefined);
  await services.semaphores.get(`permits:${name}`).tryAcquire();
  await services.semaphores.counting(`count:${name}`).tryAcquire();
  const latch = services.latches.get(`latch:${name}`);
  await latch.trySetCount(1);
  await Promise.all([latch.wait(), latch.countDown()]);
}

/** Each call runs in a request of its own, as the first on a connection that is not opened yet. */
async function inRequests(url: string) {
  const first = new LockContext(prepareConnection(url));
  const request = new AsyncLocalStorage<object>();
  const on = new LockService(first);
  const steps: (() => Promise<unknown>)[] = [
    () => on.acquire('kept'),
    () => on.acquire('held', { waitTimeMs: 50 }).catch(() => undefined),
    () => on.acquire('replicated', { minReplicas: 1 }).catch(() => undefined),
    () => new LatchService(first).get('latch').trySetCount(1),
  ];
  const stores: WeakRef<object>[] = [];
  for (const step of steps) {
    const store = {};
    stores.push(new WeakRef(store));
    await request.run(store, step);
  }
  return { first, stores };
}

/** How many of these requests are still there, while the lock of one is kept. */
async function requestsAlive(): Promise<number> {
  await footprint();
  return requests.stores.filter((store) => store.deref() !== undefined).length;
}

const api = {
  inRequests: async (url: string) => {
    requests = await inRequests(url);
  },
  requestsAlive,
  closeRequests: () => requests.first.close(),
  open: (url: string) => {
    context = new LockContext(openOverClient(url));
    locks = new LockService(context);
    services = servicesOf(context);
    rival = new LockContext(openOverClient(url));
    rivals = new LockService(rival);
  },
  footprint,
  /** Waiters of locks that are held all the time. */
  wait: (cycles: number) => abandon(cycles, (i) => `held:${i % 10}`),
  /** Attempts on names that no caller has ever used. */
  names: (cycles: number, from: number) => abandon(cycles, (i) => `free:${from + i}`),
  take: async (cycles: number) => {
    const take = (name: string) =>
      locks.using(name, () => locks.using(name, (lease) => lease.signal.aborted));
    for (let done = 0; done < cycles; done += TOGETHER) {
      await Promise.all(Array.from({ length: TOGETHER }, (_, i) => take(`mine:${done + i}`)));
    }
  },
  /** Locks of names that no caller has ever used. */
  use: (cycles: number, from: number) =>
    forNames(cycles, from, async (name) => (await locks.acquire(name)).release()),
  refuse: (cycles: number, from: number) => forNames(cycles, from, refuse),
  useAll: (cycles: number, from: number) => forNames(cycles, from, takeAll),
  close: () => Promise.all([context.close(), rival.close()]),
};
export type Api = typeof api;
serve(api);
