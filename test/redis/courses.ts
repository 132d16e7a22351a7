import type { Redis } from 'ioredis';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { FencingGuard } from '../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.js';
import { ReadWriteLockService } from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { QuorumConnection } from '../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { RedLockService } from '../../libs/redis-lock/src/primitives/red-lock/red-lock-service.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually } from '../support/eventually.js';
import { AgedServer } from '../support/red-lock-client.js';

interface Held {
  release(): Promise<void>;
}

/** Two processes with the same rights, and what they hold of one name. */
export class Stage {
  readonly #taken: Promise<Held>[] = [];
  private hasRights = true;

  constructor(
    readonly ours: LockContext,
    readonly theirs: LockContext,
    readonly name: string,
    private readonly admin: Redis,
    private readonly patienceMs = 5_000,
  ) {}

  /** It is released when the course ends, if not before. */
  keep<Lease extends Held>(taking: Promise<Lease>): Promise<Lease> {
    taking.catch(() => undefined);
    this.#taken.push(taking);
    return taking;
  }

  async release(): Promise<void> {
    const releasing = this.#taken.map(async (taking) => (await taking).release());
    await Promise.allSettled(releasing);
  }

  /** Resolves once there is such a key; without the right to make it, soon, and at once thereafter. */
  there(key: string, count = 1): Promise<void> {
    return this.#until(async () => (await this.#sizeOf(key)) >= count);
  }

  /** Resolves once there are so few, or the user lacks the right for it. */
  gone(key: string, count: number): Promise<void> {
    return this.#until(async () => (await this.#sizeOf(key)) <= count);
  }

  async #until(isThere: () => Promise<boolean>): Promise<void> {
    if (!this.hasRights) return;
    const waiting = eventually(isThere, { withinMs: this.patienceMs });
    await waiting.catch(() => (this.hasRights = false));
  }

  /** Removes the first waiter, as a Java service does. No lock needs this command or those below. */
  dropFirst(list: string): Promise<unknown> {
    return this.admin.ltrim(list, 1, -1);
  }

  /** All leases of it are long over, as after a crash. */
  outdate(leases: string): Promise<unknown> {
    return this.admin.zunionstore(leases, 1, leases, 'WEIGHTS', 0.5);
  }

  /** A Java service listens to this channel meanwhile. */
  async besideOutsider(channel: string, work: () => Promise<unknown>): Promise<void> {
    const outsider = this.admin.duplicate();
    try {
      await outsider.subscribe(channel);
      await work();
    } finally {
      outsider.disconnect();
    }
  }

  /** As a Java service may want it. */
  expire(key: string): Promise<unknown> {
    return this.admin.expire(key, 60);
  }

  async #sizeOf(key: string): Promise<number> {
    if ((await this.admin.type(key)) === 'hash') return 1;
    return ((await this.admin.sort(key, 'BY', 'nosort').catch(() => ['a text'])) as unknown[])
      .length;
  }
}

/** Goes through whatever the scripts of a service do. */
export type Course = (stage: Stage) => Promise<void>;

const nothing = () => undefined;

const locks: Course = async (stage) => {
  const { name } = stage;
  const [ours, theirs] = [new LockService(stage.ours), new LockService(stage.theirs)];
  await ours.using(name, () => ours.using(name, nothing, { fenced: true }));
  const held = await stage.keep(ours.acquire(name));
  await held.renew();
  const leaving = new AbortController();
  const gone = theirs.acquire(name, { signal: leaving.signal });
  gone.catch(nothing);
  const queue = `nestjs_lock_queue:{app:${name}}`;
  await stage.there(queue);
  leaving.abort();
  await Promise.allSettled([gone]);
  await stage.gone(queue, 0);
  const waiting = [ours, ours, theirs].map((service) => stage.keep(service.acquire(name)));
  await stage.there(queue);
  await stage.besideOutsider(`redisson_lock__channel:{app:${name}}`, async () => {
    await held.release();
    await Promise.all(waiting.map(async (one) => (await one).release()));
  });
  await stage.keep(theirs.acquire(name));
  await ours.get(name).remainingTimeMs();
  await ours.get(name).forceRelease();
};

const fairLocks: Course = async (stage) => {
  const { name } = stage;
  const [ours, theirs] = [new FairLockService(stage.ours), new FairLockService(stage.theirs)];
  const queue = `redisson_lock_queue:{app:${name}}`;
  await ours.using(name, () => ours.using(name, nothing, { fenced: true }));
  const held = await stage.keep(ours.acquire(name, { fenced: true }));
  await held.renew();
  const leaving = Array.from({ length: 10 }, () => new AbortController());
  const waiting: Promise<Held>[] = [];
  for (const { signal } of leaving) {
    const next = stage.keep(theirs.acquire(name, { signal }));
    waiting.push(next);
    await stage.there(queue, waiting.length);
  }
  await stage.dropFirst(queue);
  await stage.there(queue, 10);
  // One after the other: behind the first there are so many that their scores can wait.
  for (const one of [0, 5]) {
    leaving[one]?.abort();
    await Promise.allSettled([waiting[one]]);
    await stage.gone(queue, one === 0 ? 9 : 8);
  }
  await ours.get(name).remainingTimeMs();
  await held.release();
  await (await waiting[1])?.release();
  await (await waiting[2])?.release();
  for (const one of leaving) one.abort();
  await Promise.allSettled(waiting.map(async (one) => (await one).release()));
  await stage.keep(theirs.acquire(name));
  await ours.get(name).forceRelease();
};

const readWriteLocks: Course = async (stage) => {
  const { name } = stage;
  const ours = new ReadWriteLockService(stage.ours).get(name);
  const theirs = new ReadWriteLockService(stage.theirs).get(name);
  const queue = `nestjs_rwlock_queue:{app:${name}}`;
  await ours.write.using(() => ours.read.using(() => ours.read.using(nothing)), { fenced: true });
  const reading = await stage.keep(ours.read.acquire());
  await reading.renew();
  await ours.read.remainingTimeMs();
  const writing = stage.keep(theirs.write.acquire());
  await stage.there(`nestjs_rwlock_writers:{app:${name}}`);
  const behind = stage.keep(ours.read.acquire());
  await stage.there(`nestjs_rwlock_readers:{app:${name}}`);
  await reading.release();
  const writer = await writing;
  await writer.renew();
  await ours.write.remainingTimeMs();
  const next = [ours, theirs].map(({ write }) => stage.keep(write.acquire()));
  await stage.there(queue);
  await stage.besideOutsider(`redisson_rwlock:{app:${name}}`, async () => {
    await writer.release();
    await Promise.all([behind, ...next].map(async (one) => (await one).release()));
  });
  const leaving = new AbortController();
  const last = await stage.keep(ours.write.acquire());
  const gone = theirs.write.acquire({ signal: leaving.signal });
  const lost = theirs.read.acquire({ signal: leaving.signal });
  for (const one of [gone, lost]) one.catch(nothing);
  await stage.there(queue);
  leaving.abort();
  await Promise.allSettled([gone, lost]);
  await stage.gone(queue, 0);
  const successor = stage.keep(theirs.write.acquire());
  await stage.there(queue);
  await last.release();
  await (await successor).release();
  await stage.keep(theirs.write.acquire());
  await ours.write.forceRelease();
  await stage.keep(theirs.read.acquire());
  await ours.read.forceRelease();
};

const semaphores: Course = async (stage) => {
  const [ours, theirs] = [stage.ours, stage.theirs].map((context) =>
    new SemaphoreService(context).get(stage.name),
  ) as [ReturnType<SemaphoreService['get']>, ReturnType<SemaphoreService['get']>];
  await ours.trySetPermits(2);
  await stage.expire(`app:${stage.name}`);
  await ours.addPermits(1);
  await ours.setPermits(2);
  const held = await stage.keep(ours.acquire({ permits: 2 }));
  await held.renew();
  await theirs.availablePermits();
  await theirs.acquiredPermits();
  const waiting = stage.keep(theirs.acquire({ permits: 2 }));
  await stage.there(`nestjs_semaphore_waiting:{app:${stage.name}}`);
  await held.release();
  await (await waiting).release();
  await stage.keep(ours.acquire({ permits: 2 }));
  await stage.outdate(`{app:${stage.name}}:timeout`);
  await (await stage.keep(theirs.acquire({ permits: 2 }))).release();
  const counting = new SemaphoreService(stage.ours).counting(`${stage.name}:count`);
  await counting.trySetPermits(2);
  await counting.acquire(2);
  const others = new SemaphoreService(stage.theirs).counting(`${stage.name}:count`);
  const taking = others.acquire(1);
  taking.catch(nothing);
  await counting.release(2);
  await taking;
  await others.release();
  await counting.availablePermits();
  await counting.drainPermits();
};

const latches: Course = async (stage) => {
  const [ours, theirs] = [stage.ours, stage.theirs].map((context) =>
    new LatchService(context).get(stage.name),
  ) as [ReturnType<LatchService['get']>, ReturnType<LatchService['get']>];
  await ours.trySetCount(2);
  const waiting = theirs.wait();
  waiting.catch(nothing);
  await ours.countDown();
  await ours.getCount();
  await theirs.countDown();
  await waiting;
  await ours.trySetCount(1);
  await ours.delete();
};

const redLocks: Course = async (stage) => {
  const [ours, theirs] = [stage.ours, stage.theirs].map((context) => {
    const quorum = new QuorumConnection([new AgedServer(context.connection)], {
      longestLeaseMs: 20_000,
    });
    return new RedLockService(new LockContext(quorum, context.settings), quorum);
  }) as [RedLockService, RedLockService];
  const held = await stage.keep(ours.acquire(stage.name, { fenced: true }));
  await held.renew();
  await ours.get(stage.name).remainingTimeMs();
  const waiting = stage.keep(theirs.acquire(stage.name));
  await held.release();
  await (await waiting).release();
  await ours.using(stage.name, () => ours.using(stage.name, nothing));
};

const fencing: Course = async (stage) => {
  const guard = new FencingGuard(stage.ours);
  const [key, token] = [`app:${stage.name}`, 1_800_000_000_000_000];
  await guard.write(token, key, 'set', 'sold');
};

export const COURSES = {
  LockService: locks,
  FairLockService: fairLocks,
  ReadWriteLockService: readWriteLocks,
  SemaphoreService: semaphores,
  LatchService: latches,
  RedLockService: redLocks,
  FencingGuard: fencing,
} as const satisfies Record<string, Course>;
