import { describe, expect, it } from '@jest/globals';
import { Mutex } from 'async-mutex';
import { Queue, Worker } from 'bullmq';
import DataLoader from 'dataloader';
import { promise as fastq } from 'fastq';
import { Redis } from 'ioredis';
import { CurrentLock, LockService, type Nesting } from 'nestjs-redis-lock/core';
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import limitTo from 'p-limit';
import PQueue from 'p-queue';
import { concatMap, defer, from, share, Subject } from 'rxjs';
import { eventually, Gate, Section, useRealClients, type LockClient } from '../support/set-up.js';

const { redis, open } = useRealClients(LockService);

type Work = () => Promise<unknown>;
/** Runs the jobs of all requests, one after the other. */
type Add = (job: Work) => unknown;

/** A pool with one connection. The caller that returns it calls the next callback. */
function callbackPool(): Add {
  const waiting: (() => void)[] = [];
  let isFree = true;
  const release = () => {
    const next = waiting.shift();
    if (next === undefined) isFree = true;
    else next();
  };
  return (job) => {
    const start = () => void job().then(release, release);
    if (!isFree) {
      waiting.push(start);
      return;
    }
    isFree = false;
    start();
  };
}

function withConcatMap(): Add {
  const jobs = new Subject<Work>();
  jobs.pipe(concatMap((job) => defer(() => from(job())))).subscribe();
  return (job) => {
    jobs.next(job);
  };
}

function withPromiseChain(): Add {
  let last: Promise<unknown> = Promise.resolve();
  return (job) => (last = last.then(job));
}

const QUEUES: Record<string, () => Add> = {
  'RxJS concatMap': withConcatMap,
  fastq: () => {
    const queue = fastq((job: Work) => job(), 1);
    return (job) => queue.push(job);
  },
  'p-queue': () => {
    const queue = new PQueue({ concurrency: 1 });
    return (job) => queue.add(job);
  },
  'a pool with callbacks': callbackPool,
  'a chain of promises': withPromiseChain,
  'p-limit': () => {
    const limit = limitTo(1);
    return (job) => limit(job);
  },
  'async-mutex': () => {
    const mutex = new Mutex();
    return (job) => mutex.runExclusive(job);
  },
};

/** A request that holds the lock, and another call for it that may run beside. */
class Scene {
  readonly section = new Section();
  readonly client: LockClient<LockService>;
  private other: Promise<unknown> | undefined;

  constructor(private readonly nesting?: Nesting) {
    this.client = open();
  }

  /** The other call. */
  readonly enter = async (): Promise<void> => {
    const { nesting, section } = this;
    const work = () => section.run(() => undefined);
    const entering = this.client.locks.using('a', work, { nesting });
    this.other = entering;
    await entering;
  };

  /** The same, and no caller waits for it. */
  readonly start = (): void => {
    void this.enter();
  };

  /** The first request goes on under its lock until the other call is in, or waits. */
  async hold(work: () => unknown): Promise<number> {
    const { client, section } = this;
    const queues = client.context.queues('lock', false);
    const holding = client.locks.using('a', () =>
      section.run(async () => {
        await work();
        await eventually(() => section.entries === 2 || queues.waiting === 1);
      }),
    );
    await holding;
    await eventually(() => this.other !== undefined);
    await this.other;
    expect(section.entries).toBe(2);
    return section.most;
  }
}

/** How many are inside at once, if another request's job follows the holder's own. */
async function inside(makeQueue: () => Add, bind: (job: Work) => Work, nesting?: Nesting) {
  const scene = new Scene(nesting);
  const add = makeQueue();
  const [begun, end] = [new Gate(), new Gate()];
  const own = async () => {
    begun.open();
    await end.opened;
  };
  const holding = scene.hold(() => add(bind(own)));
  await begun.opened;
  add(bind(scene.enter));
  end.open();
  return holding;
}

const asItIs = (job: Work) => job;
const bound = (job: Work): Work => AsyncResource.bind(job);

describe('a job of a shared queue, for a lock that another request holds', () => {
  const safe = ['a chain of promises', 'p-limit', 'async-mutex'];
  const unsafe = Object.keys(QUEUES).filter((name) => !safe.includes(name));
  const queueOf = (name: string) => QUEUES[name] as () => Add;

  it.each(unsafe)('joins its hold, and runs beside it: %s', async (name) => {
    expect(await inside(queueOf(name), asItIs)).toBe(2);
  });

  it.each(Object.keys(QUEUES))('waits with nesting "wait": %s', async (name) => {
    expect(await inside(queueOf(name), asItIs, 'wait')).toBe(1);
  });

  it.each(Object.keys(QUEUES))('waits when it is bound to its own request: %s', async (name) => {
    expect(await inside(queueOf(name), bound)).toBe(1);
  });

  it.each(safe)('waits, since the queue keeps the context of each job: %s', async (name) => {
    expect(await inside(queueOf(name), asItIs)).toBe(1);
  });
});

/** As another request does. */
const outside = AsyncLocalStorage.snapshot();

/** Each starts the other call from inside of the hold, and does not wait for it. */
const STARTED: Record<string, (call: () => void) => unknown> = {
  EventEmitter: (call) => new EventEmitter().on('paid', call).emit('paid'),
  setTimeout: (call) => setTimeout(call, 1),
  setInterval: (call) => {
    const timer = setInterval(() => {
      clearInterval(timer);
      call();
    }, 1);
  },
  setImmediate: (call) => setImmediate(call),
  'RxJS share()': (call) => {
    const prices = defer(() => from(Promise.resolve(1))).pipe(share());
    // The first subscriber connects the source. Its context is that of all others.
    prices.subscribe();
    outside(() => prices.subscribe(call));
  },
  'one DataLoader for all requests': (call) => {
    const loader = new DataLoader<number, number>(async (ids) => {
      if (ids.length === 2) call();
      return Promise.resolve([...ids]);
    });
    void loader.load(1);
    outside(() => void loader.load(2));
  },
};

describe('what is started inside of a hold, and not awaited', () => {
  it.each(Object.keys(STARTED))('joins the hold, and runs beside it: %s', async (name) => {
    const scene = new Scene();
    expect(await scene.hold(() => STARTED[name]?.(scene.start))).toBe(2);
  });

  it.each(Object.keys(STARTED))('waits with nesting "wait": %s', async (name) => {
    const scene = new Scene('wait');
    expect(await scene.hold(() => STARTED[name]?.(scene.start))).toBe(1);
  });

  it.each(Object.keys(STARTED))('waits when CurrentLock.exit() starts it: %s', async (name) => {
    const scene = new Scene();
    const start = () => STARTED[name]?.(scene.start);
    expect(await scene.hold(() => CurrentLock.exit(start))).toBe(1);
  });
});

describe('a worker of BullMQ', () => {
  it.each([
    ['started by the application', 'outside', 1],
    ['started inside of the hold', 'inside', 2],
  ])('%s runs a job of the holder %s of its hold', async (_, where, most) => {
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    const queue = new Queue(`jobs-${where}`, { connection });
    const scene = new Scene();
    let worker: Worker | undefined;
    const start = () => {
      worker = new Worker(queue.name, scene.enter, { connection });
    };
    if (where === 'outside') start();
    try {
      const held = await scene.hold(async () => {
        if (where === 'inside') start();
        await queue.add('pay', {});
      });
      expect(held).toBe(most);
    } finally {
      await worker?.close();
      await queue.obliterate({ force: true });
      await queue.close();
      connection.disconnect();
    }
  });
});
