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
  acquire<Fenced extends boolean = boolean>(
    name: string,
    options?: AcquireOptions<Fenced>,
  ): Promise<Lease<Fenced>> {
    return this.#acquirer.acquire(name, options) as Promise<Lease<Fenced>>;
  }

  /** {@inheritDoc Lock.tryAcquire} */
  tryAcquire<Fenced extends boolean = boolean>(
    name: string,
    options?: AcquireOptions<Fenced>,
  ): Promise<Lease<Fenced> | null> {
    return this.#acquirer.tryAcquire(name, options) as Promise<Lease<Fenced> | null>;
  }

  /** {@inheritDoc Lock.using} */
  using<T, Fenced extends boolean = boolean>(
    name: string,
    work: (lease: Lease<Fenced>) => T,
    options?: AcquireOptions<Fenced>,
  ): Promise<Awaited<T>> {
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-assertion -- the compiler needs it
    return this.#acquirer.using(name, work as (lease: Lease) => T, options);
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

  /** A hold of this process that Redis does not show any more is lost. */
  async #inspect(name: string): Promise<Inspection> {
    const { context, protocol } = this;
    const { kind } = protocol;
    const holds = context.holdsOn(context.keys.key(name));
    const found = await askOnce(context, name, (key) => protocol.inspect(key));
    const ours = holds.filter((hold) => hold.kind === kind);
    context.holds.compare(ours, found.holders);
    return found;
  }

  async #forceRelease(name: string, options?: ForceReleaseOptions): Promise<boolean> {
    checkForceOptions(options, FORCE_OPTIONS);
    const found = await this.#inspect(name);
    return forceRelease(this.context, this.protocol, name, found, options);
  }
}
