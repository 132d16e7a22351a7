import { Acquirer } from '../../core/acquirer.js';
import type { LockContext } from '../../core/lock-context.js';
import { OnceOnly } from '../../core/once-only.js';
import type { CountingSemaphore } from '../counting-semaphore/counting-semaphore.js';
import { CountingSemaphores } from '../counting-semaphore/counting-semaphore-service.js';
import { REQUEST } from './footprint.js';
import { NamedSemaphore } from './named-semaphore.js';
import { PermitProtocol } from './permit-protocol.js';
import type { Semaphore } from './semaphore.js';

/**
 * Semaphores on Redis: a number of holders at a time among all processes that share the server,
 * Java services with Redisson's `RPermitExpirableSemaphore` included.
 */
export class SemaphoreService {
  readonly #acquirer: Acquirer;
  readonly #counting: CountingSemaphores;
  readonly #requests: OnceOnly;

  constructor(private readonly context: LockContext) {
    this.#acquirer = new Acquirer(context, new PermitProtocol(context));
    this.#counting = new CountingSemaphores(context);
    this.#requests = new OnceOnly(context, REQUEST, 'semaphore');
  }

  /**
   * The semaphore of this name. Costs nothing: nothing is sent, nothing is kept.
   * @throws {LockKeyError} the name cannot be used
   */
  get(name: string): Semaphore {
    this.context.keys.key(name);
    return new NamedSemaphore(name, this.context, this.#acquirer, this.#requests);
  }

  /**
   * The counting semaphore of this name, as Redisson's `RSemaphore`: a bare number, without owners and
   * leases. Costs nothing, as `get`.
   * @throws {LockKeyError} the name cannot be used
   */
  counting(name: string): CountingSemaphore {
    return this.#counting.get(name);
  }
}
