import { Acquirer } from '../../core/acquirer.js';
import type { LockContext } from '../../core/lock-context.js';
import { Requests } from '../../core/requests.js';
import { NamedSemaphore } from './named-semaphore.js';
import { PermitProtocol } from './permit-protocol.js';
import type { Semaphore } from './semaphore.js';

/**
 * Semaphores on Redis: so many at a time among all processes that share the server, Java services with
 * Redisson's `RPermitExpirableSemaphore` included.
 */
export class SemaphoreService {
  readonly #acquirer: Acquirer;
  readonly #requests: Requests;

  constructor(private readonly context: LockContext) {
    this.#acquirer = new Acquirer(context, new PermitProtocol(context));
    this.#requests = new Requests(context, 'nestjs_semaphore_request');
  }

  /**
   * The semaphore of this name. Costs nothing: nothing is sent, nothing is kept.
   * @throws {LockKeyError} the name cannot be used
   */
  get(name: string): Semaphore {
    this.context.keys.key(name);
    return new NamedSemaphore(name, this.context, this.#acquirer, this.#requests);
  }
}
