import { LockConfigurationError } from '../core/api/errors.js';
import type { Clock } from '../core/time/clock.js';
import type { Client } from './client.js';
import { isReply, noConnectionError } from './reply-error.js';
import { askServers, evictionIn, mayEvict } from './set-up-warnings.js';
import { within } from './within.js';

/** The time for INFO while calls wait for it. */
const INFO_MS = 3_000;

/** Refuses servers that may evict locks. It is over once the servers of a client have passed. */
export class ServerTrial {
  isOver = false;
  #verdict: Promise<void> | undefined;

  constructor(
    private readonly client: Client,
    private readonly warn: (message: string) => void,
    private readonly clock: Clock,
  ) {}

  /**
   * All calls of a moment share one verdict.
   * @throws {LockBackendError} the servers do not answer; the trial goes on
   * @throws {LockConfigurationError} a server may evict locks
   */
  async pass(): Promise<void> {
    this.#verdict ??= this.#judge().finally(() => {
      this.#verdict = undefined;
    });
    await this.#verdict;
  }

  async #judge(): Promise<void> {
    const asked = askServers(this.client).catch(unlessBroken);
    const infos = await within(INFO_MS, asked, this.clock);
    if (infos === undefined) throw noConnectionError(undefined);
    const problem = infos.filter(mayEvict).map(evictionIn).find(Boolean);
    if (problem !== undefined) {
      throw new LockConfigurationError(`Refused by onEviction: ${problem}`);
    }
    if (infos.length === 0) {
      this.warn("Without the right to INFO, onEviction: 'refuse' has no effect; allow +info");
    }
    this.isOver = true;
  }
}

function unlessBroken(error: unknown): string[] | undefined {
  return isReply(error) ? [] : undefined;
}
