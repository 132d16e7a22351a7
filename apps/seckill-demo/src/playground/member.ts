import type { LockEvent } from '../../../../libs/redis-lock/src/core/api/observer.js';
import { LockContext } from '../../../../libs/redis-lock/src/core/lock-context.js';
import { FairLockService } from '../../../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { FencingGuard } from '../../../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.js';
import { LockService } from '../../../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { ReadWriteLockService } from '../../../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { Mishaps } from '../../../../libs/world/src/mishaps.js';
import { SimulatedProcess } from '../../../../libs/world/src/simulated-process.js';
import type { World } from '../../../../libs/world/src/world.js';
import type { Experiment } from './experiment.js';
import { CallersConnection, RedisClient } from './redis.js';
import type { PlaygroundServer } from './server.js';
import type { Locks, Shop } from './shop.js';

/** A process of the shop, with the library in it. */
export class Member {
  readonly process: SimulatedProcess;
  readonly connection: CallersConnection;
  readonly redis: RedisClient;
  readonly locks: Locks;
  readonly fairLocks: Locks;
  readonly writeLocks: Locks;
  readonly guard: FencingGuard;
  readonly mutex: Shop['mutex'];

  constructor(
    world: World,
    server: PlaygroundServer,
    readonly number: number,
    { leaseMs, latencyMs }: Experiment,
    observe: (event: LockEvent) => void,
  ) {
    const process = (this.process = new SimulatedProcess(world, `process${number}`, 1));
    const mishaps = new Mishaps(world, () => undefined);
    const weather = { spikes: 1, spikeMs: latencyMs };
    const site = { world, weather, mishaps, process };
    const connection = (this.connection = new CallersConnection(site, { master: server }));
    this.redis = new RedisClient(connection);
    const settings = { watchdogLeaseMs: leaseMs, observer: { observe } };
    const context = new LockContext(connection, settings, process.clock, process.random);
    this.locks = new LockService(context);
    this.fairLocks = new FairLockService(context);
    const readWriteLocks = new ReadWriteLockService(context);
    this.writeLocks = {
      using: (name, work, options) => readWriteLocks.get(name).write.using(work, options),
    };
    this.guard = new FencingGuard(context);
    this.mutex = mutexOf();
  }
}

function mutexOf(): Shop['mutex'] {
  let last: Promise<unknown> = Promise.resolve();
  return {
    runExclusive(work) {
      const result = last.then(work);
      last = result.catch(() => undefined);
      return result;
    },
  };
}
