import { Acquirer } from './acquirer.js';
import { checkForceOptions, FORCE_OPTIONS, forceRelease } from './force-release.js';
import { askOnce } from './session.js';
import type { Inspection, LockProtocol } from './holding/protocol.js';
import type { Lease } from './api/lease.js';
import type { LockContext } from './lock-context.js';
import type { AcquireOptions, ForceReleaseOptions, Lock } from './api/lock.js';

/** All locks of one kind on one connection. */
export class NamedLocks {
  /** @internal */
  protected readonly context: LockContext;
  readonly #acquirer: Acquirer;

  /** @internal */
  constructor(
    context: LockContext,
    private readonly protocol: LockProtocol,
  ) {
    this.context = context;
    this.#acquirer = new Acquirer(context, protocol);
  }

  /** {@inheritDoc Lock.acquire} */
  acquire(name: string, options?: AcquireOptions): Promise<Lease> {
    return this.#acquirer.acquire(name, options);
  }

  /** {@inheritDoc Lock.tryAcquire} */
  tryAcquire(name: string, options?: AcquireOptions): Promise<Lease | null> {
    return this.#acquirer.tryAcquire(name, options);
  }

  /** {@inheritDoc Lock.using} */
  using<T>(name: string, work: (lease: Lease) => T, options?: AcquireOptions): Promise<Awaited<T>> {
    return this.#acquirer.using(name, work, options);
  }

  /**
   * The lock of this name, with the same verbs. It sends and stores nothing.
   * @throws {LockKeyError} the name is not valid
   */
  get(name: string): Lock {
    const id = [this.context.keys.key(name), this.protocol.kind, this.context.id].join('\n');
    return {
      name,
      id,
      acquire: (options) => this.acquire(name, options),
      tryAcquire: (options) => this.tryAcquire(name, options),
      using: (work, options) => this.using(name, work, options),
      isLocked: async () => (await this.#inspect(name)).holders.length > 0,
      remainingTimeMs: async () => (await this.#inspect(name)).remainingMs,
      forceRelease: (options) => this.#forceRelease(name, options),
    };
  }

  #inspect(name: string): Promise<Inspection> {
    return askOnce(this.context, name, (key) => this.protocol.inspect(key));
  }

  async #forceRelease(name: string, options?: ForceReleaseOptions): Promise<boolean> {
    checkForceOptions(options, FORCE_OPTIONS);
    const found = await this.#inspect(name);
    return forceRelease(this.context, this.protocol, name, found, options);
  }
}
