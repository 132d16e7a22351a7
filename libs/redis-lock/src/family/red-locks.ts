import { LockConfigurationError } from '../core/api/errors.js';
import { ClientRecord } from '../core/client-record.js';
import type { LockContext } from '../core/lock-context.js';
import { tell, type LockObserver } from '../core/api/observer.js';
import { resolveSettings, type LockSettings } from '../core/api/settings.js';
import { QuorumConnection } from '../primitives/red-lock/quorum-connection.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import type { Backend, BackendConnection } from './backend.js';
import type { RedLockChoice } from './options.js';

/** The red locks of an application, on their own servers. */
export class RedLocks {
  readonly service: RedLockService;
  readonly context: LockContext;
  readonly #nodes: readonly BackendConnection[];
  readonly #quorum: QuorumConnection;

  /** @throws {LockConfigurationError} the nodes, or the longest lease, cannot be used */
  constructor(
    { nodes, longestLeaseMs }: RedLockChoice,
    given: Partial<LockSettings> & { readonly observer: LockObserver },
    backend: Backend,
  ) {
    const { observer } = given;
    const { clock } = backend;
    const settings = resolveSettings(given);
    const connections: BackendConnection[] = [];
    this.#nodes = connections;
    try {
      for (const node of nodes) {
        connections.push(backend.connect(node, observer, undefined, settings.onEviction));
      }
      checkTopologies(connections, observer);
      this.#quorum = new QuorumConnection(connections, {
        longestLeaseMs: longestLeaseMs ?? settings.watchdogLeaseMs,
        clock,
        observer,
      });
      this.context = backend.context(this.#quorum, settings);
      this.service = new RedLockService(this.context, this.#quorum);
    } catch (error) {
      // They have listeners on clients of the caller, which live on.
      for (const connection of connections) void connection.close();
      throw error;
    }
  }

  /** One on each node. */
  records(): ClientRecord[] {
    return this.#nodes.map((node) => new ClientRecord(this.context, node));
  }

  /** @throws {LockConfigurationError} a node is no master of its own, or two are one server */
  async open(): Promise<void> {
    for (const node of this.#nodes) node.open();
    await this.#quorum.check();
  }
}

function checkTopologies(
  nodes: readonly BackendConnection[],
  observer: LockObserver | undefined,
): void {
  nodes.forEach(({ topology }, i) => {
    const node = `Node ${String(i + 1)} of the red lock`;
    if (topology === 'cluster') {
      throw new LockConfigurationError(
        `${node} is a Cluster client; each node must be a single master`,
      );
    }
    if (topology === 'server') return;
    // A replica that becomes the master may not know the last votes, and does not count as
    // restarted.
    const message = `${node} is behind Sentinel, and a failover may lose votes; use a master without replicas`;
    tell(observer, { type: 'warning', message });
  });
}

/** The service of an application without nodes for red locks: it refuses every call. */
export function noRedLocks(): RedLockService {
  const error = () =>
    new LockConfigurationError(
      'RedLockService has no servers: set the option redLock of RedisLockModule.forRoot() or ' +
        "openLocks() to { nodes: ['redis://…', 'redis://…', 'redis://…'] }",
    );
  const reject = () => Promise.reject(error());
  const refuse = () => {
    throw error();
  };
  const verbs = { acquire: reject, tryAcquire: reject, using: reject, get: refuse };
  return Object.assign(Object.create(RedLockService.prototype) as RedLockService, verbs);
}
