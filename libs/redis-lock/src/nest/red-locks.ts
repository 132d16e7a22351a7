import { LockConfigurationError } from '../core/errors.js';
import { LockContext } from '../core/lock-context.js';
import { tell, type LockObserver } from '../core/observer.js';
import { resolveSettings, type LockSettings } from '../core/options.js';
import type { RedisConnection } from '../core/redis-connection.js';
import { QuorumConnection } from '../primitives/red-lock/quorum-connection.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';

/** A node that can be told when to connect. */
export type RedLockNode = RedisConnection & {
  open(): void;
  readonly topology: 'server' | 'sentinel' | 'cluster';
};

/** The red locks of an application, on servers of their own. */
export class RedLocks {
  readonly service: RedLockService;
  readonly context: LockContext;
  readonly #nodes: readonly RedLockNode[];
  readonly #quorum: QuorumConnection;

  /** @throws {LockConfigurationError} the nodes, or the longest lease, cannot be used */
  constructor(
    nodes: readonly RedLockNode[],
    longestLeaseMs: number | undefined,
    given: Partial<LockSettings>,
  ) {
    const settings = resolveSettings(given);
    const { leaseTimeMs, observer } = settings;
    const longest = longestLeaseMs ?? leaseTimeMs;
    checkTopologies(nodes, observer);
    this.#nodes = nodes;
    this.#quorum = new QuorumConnection(nodes, { longestLeaseMs: longest, observer });
    this.context = new LockContext(this.#quorum, settings);
    this.service = new RedLockService(this.context, this.#quorum);
  }

  /** @throws {LockConfigurationError} a node is no master of its own, or two are one server */
  async open(): Promise<void> {
    for (const node of this.#nodes) node.open();
    await this.#quorum.check();
  }
}

function checkTopologies(nodes: readonly RedLockNode[], observer: LockObserver | undefined): void {
  nodes.forEach(({ topology }, i) => {
    const node = `Node ${String(i + 1)} of the red lock`;
    if (topology === 'cluster') {
      throw new LockConfigurationError(
        `${node} is a Cluster client; each node must be a master that stands alone`,
      );
    }
    if (topology === 'server') return;
    // A replica that becomes the master may not know the last votes, and is no restarted server.
    const message = `${node} is behind Sentinel, whose failover may lose votes; take a master without replicas`;
    tell(observer, { type: 'warning', message });
  });
}

/** What an application gets that asks for red locks, and has no nodes for them. */
export function noRedLocks(): RedLockService {
  const error = () =>
    new LockConfigurationError(
      'RedLockService has no servers to lock on: give RedisLockModule.forRoot() the option ' +
        "redLock: { nodes: ['redis://…', 'redis://…', 'redis://…'] }",
    );
  const reject = () => Promise.reject(error());
  const refuse = () => {
    throw error();
  };
  const verbs = { acquire: reject, tryAcquire: reject, using: reject, get: refuse };
  return Object.assign(Object.create(RedLockService.prototype) as RedLockService, verbs);
}
