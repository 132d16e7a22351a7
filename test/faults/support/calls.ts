import { LockBackendError, LockTimeoutError } from 'nestjs-redis-lock';

import type { Application } from './application.js';

/** A caller for each lock that uses it again and again, and notes how every call ends. */
export class Calls {
  done = 0;
  /** Redis could not be asked for too long: what may happen while a server is replaced. */
  failed = 0;
  /** What no caller should ever see. */
  readonly unexpected: unknown[] = [];
  readonly #callers: Promise<void>[];
  #isStopped = false;

  constructor(
    private readonly application: Application,
    names: readonly string[],
  ) {
    this.#callers = names.map((name) => this.#call(name));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#callers);
  }

  async #call(name: string): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.application.locks.using(name, () => undefined, { waitTimeMs: 5_000 });
        this.done++;
      } catch (error) {
        if (error instanceof LockBackendError || error instanceof LockTimeoutError) this.failed++;
        else this.unexpected.push(error);
      }
    }
  }
}
