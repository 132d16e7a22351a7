import type { LockObserver } from '../../libs/redis-lock/src/core/api/observer.js';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { RedisConnection } from '../../libs/redis-lock/src/core/redis/connection.js';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { FencingGuard } from '../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { QuorumConnection } from '../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { ReadWriteLockService } from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { RedLockService } from '../../libs/redis-lock/src/primitives/red-lock/red-lock-service.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { SimulatedClient } from './ioredis/client.js';
import type { Mishaps } from '../../libs/world/src/mishaps.js';
import type { Plan } from './plan.js';
import { SimulatedConnection } from '../../libs/world/src/simulated-connection.js';
import type { SimulatedProcess } from '../../libs/world/src/simulated-process.js';
import type { Address } from './simulated-server.js';
import type { Link, Site } from '../../libs/world/src/link.js';

/** The longest lease of any process on a red lock. */
export const LONGEST_LEASE_MS = 30_000;

/** A place between the library and its connection, for defects that are planted. */
export type Decorate = (connection: RedisConnection, process: SimulatedProcess) => RedisConnection;

/** The way of a process to one server. */
interface Client {
  readonly connection: RedisConnection;
  readonly links: readonly Link[];
  end(): void;
}

/** The library in one process, on its connections. */
export class Application {
  readonly process: SimulatedProcess;
  readonly mishaps: Mishaps;
  readonly clients: readonly Client[];
  readonly context: LockContext;
  readonly #connection: RedisConnection;

  constructor(
    site: Site,
    addresses: readonly Address[],
    plan: Pick<Plan, 'level' | 'settings'>,
    decorate: Decorate,
    observer: LockObserver,
  ) {
    const { process } = site;
    this.process = process;
    this.mishaps = site.mishaps;
    const Client = plan.level === 1 ? SimulatedConnection : SimulatedClient;
    this.clients = addresses.map((address) => new Client(site, address));
    const { clock, random } = process;
    const settings = { ...plan.settings, observer };
    const nodes = this.clients.map(({ connection }) => decorate(connection, process));
    const [only, ...others] = nodes;
    this.#connection =
      only !== undefined && others.length === 0
        ? only
        : new QuorumConnection(nodes, { longestLeaseMs: LONGEST_LEASE_MS, clock });
    this.context = new LockContext(this.#connection, settings, clock, random);
  }

  lock = () => new LockService(this.context);
  fair = () => new FairLockService(this.context);
  readWrite = () => new ReadWriteLockService(this.context);
  semaphore = () => new SemaphoreService(this.context);
  counting = () => new CountingSemaphores(this.context);
  latch = () => new LatchService(this.context);
  guard = () => new FencingGuard(this.context);
  red = () => new RedLockService(this.context, this.#connection as QuorumConnection);

  /** As at the shutdown of its service. */
  async close(): Promise<void> {
    await this.context.drain();
    await this.context.close();
    for (const client of this.clients) client.end();
  }
}
