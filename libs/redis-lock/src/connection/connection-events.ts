import { tell, type LockEvent, type LockObserver } from '../core/api/observer.js';
import { outOfScope } from '../core/time/clock.js';

/**
 * Sends the events of one connection to its observer. Each outage and each warning is sent once,
 * none after the end.
 */
export class ConnectionEvents {
  readonly #warned = new Set<string>();
  #isOutage = false;
  #isClosed = false;

  constructor(private readonly observer: LockObserver | undefined) {}

  warn(...messages: readonly string[]): void {
    for (const message of messages) {
      if (this.#warned.has(message)) continue;
      this.#warned.add(message);
      this.#tell({ type: 'warning', message });
    }
  }

  /** The warning no longer holds: it may be sent again. */
  forget(message: string): void {
    this.#warned.delete(message);
  }

  outage(error: unknown): void {
    if (this.#isOutage) return;
    this.#isOutage = true;
    this.#tell({ type: 'connection-failed', error });
  }

  restored(): void {
    if (this.#isOutage) this.#tell({ type: 'connection-restored' });
    this.#isOutage = false;
  }

  messagesFailed(error: unknown): void {
    this.#tell({ type: 'messages-failed', error });
  }

  close(): void {
    this.#isClosed = true;
  }

  /** The caller's client may have been connected in the scope of any caller. */
  #tell(event: LockEvent): void {
    if (this.#isClosed) return;
    outOfScope(() => {
      tell(this.observer, event);
    });
  }
}
