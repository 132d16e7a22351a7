import type { Random } from '../../support/random.js';
import type { Site } from '../../../libs/world/src/link.js';
import { SimulatedConnection } from '../../../libs/world/src/simulated-connection.js';
import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { Address } from '../simulated-server.js';

/** Owners of Java, and their permits, begin with it. */
export const OF_JAVA = 'c0ffee';

/** Wakes all that sleep, and none that is about to. */
const READ_UNLOCK = 1;
/** Behind a dead thread of a fair queue, Redisson asks again without a pause. */
const LEAST_SLEEP_MS = 50;

/** The waiters of a Java service for one channel: one subscription, and one semaphore. */
class Entry {
  users = 0;
  readonly confirmed: Promise<void>;
  readonly end: () => void;
  #permits = 0;
  readonly #sleepers = new Set<() => void>();

  constructor(
    private readonly jvm: Jvm,
    channel: string,
  ) {
    let confirmed: () => void = () => undefined;
    this.confirmed = new Promise((resolve) => {
      confirmed = resolve;
    });
    const message = (payload: string) => {
      this.#message(channel, Number(payload));
    };
    this.end = jvm.connection.listen(channel, { message, confirmed });
  }

  /** @returns whether a message has ended it */
  sleep(ms: number): Promise<boolean> {
    if (this.#permits > 0) {
      this.#permits -= 1;
      return Promise.resolve(true);
    }
    const { clock } = this.jvm.process;
    return new Promise((resolve) => {
      const wake = () => {
        clock.cancel(timer);
        resolve(true);
      };
      const timer = clock.after(Math.max(LEAST_SLEEP_MS, ms), () => {
        this.#sleepers.delete(wake);
        resolve(false);
      });
      this.#sleepers.add(wake);
    });
  }

  #message(channel: string, value: number): void {
    const isOfPermits = channel.startsWith('redisson_sc');
    const most = isOfPermits ? Math.min(this.users, value) : 1;
    const isForAll = !isOfPermits && value === READ_UNLOCK;
    const woken = isForAll ? this.#sleepers.size : Math.max(0, most);
    for (let i = 0; i < woken; i += 1) {
      const [sleeper] = this.#sleepers;
      if (sleeper === undefined) {
        this.#permits += 1;
        continue;
      }
      this.#sleepers.delete(sleeper);
      sleeper();
    }
  }
}

/** A Java service: its threads share connections and subscriptions. */
export class Jvm {
  readonly process: SimulatedProcess;
  readonly connection: SimulatedConnection;
  readonly #client: string;
  readonly #entries = new Map<string, Entry>();
  #threads = 0;

  constructor(
    site: Site,
    address: Address,
    readonly random: Random,
  ) {
    this.process = site.process;
    this.connection = new SimulatedConnection(site, address);
    this.#client = this.#newId();
  }

  newThread(): string {
    this.#threads += 1;
    return `${this.#client}:${String(this.#threads)}`;
  }

  permitId(): string {
    return this.#newId().replaceAll('-', '');
  }

  #newId(): string {
    return OF_JAVA + this.process.random.uuid().slice(OF_JAVA.length);
  }

  join(channel: string): Entry {
    const entry = this.#entries.get(channel) ?? new Entry(this, channel);
    this.#entries.set(channel, entry);
    entry.users += 1;
    return entry;
  }

  leave(channel: string): void {
    const entry = this.#entries.get(channel);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    this.#entries.delete(channel);
    entry.end();
  }
}
