import { LockBackendError, LockReplicationError } from '../../redis-lock/src/core/api/errors.js';
import type {
  ChannelListener,
  KeyPlace,
  RedisConnection,
  Reply,
} from '../../redis-lock/src/core/redis/connection.js';
import type { Script } from '../../redis-lock/src/core/redis/script.js';
import { brokenError, shortOfReplicasError } from '../../redis-lock/src/connection/reply-error.js';
import { replyOf } from '../../redis-lock/src/testing/server/in-process-connection.js';
import { Subscriptions } from './subscriptions.js';
import { Link, type Address, type Site, type WorldServer } from './link.js';

const PLACE: KeyPlace = { node: '', slot: 0 };
/** As long as the connection of the library waits for replicas. */
const WAIT_MS = 390;
/** The longest pause before it connects anew. */
const RECONNECT_MS = 200;
const READONLY = /READONLY/;

interface Call {
  readonly script: Script<string, string, unknown>;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  readonly minReplicas: number;
  readonly resolve: (reply: Reply<unknown>) => void;
  readonly reject: (error: unknown) => void;
  sentAt: number;
  isResent: boolean;
}

/** The port to Redis in a world: what the library needs from a client, without ioredis. */
export class SimulatedConnection implements RedisConnection {
  isUp = false;
  sendCount = 0;
  readonly #upListeners = new Set<() => void>();
  readonly #subscriptions: Subscriptions;
  #link: Link | undefined;
  /** In the order of their calls: those without an answer, and those that this turn still sends. */
  #pending: Call[] = [];
  #due: Call[] = [];
  #isClosed = false;

  constructor(
    private readonly site: Site,
    readonly address: Address,
  ) {
    this.#subscriptions = new Subscriptions(site, address);
    this.#connect();
  }

  get connection(): this {
    return this;
  }

  get isHearing(): boolean {
    return this.#subscriptions.isHearing;
  }

  get links(): Link[] {
    return [this.#link, this.#subscriptions.link].filter((link) => link !== undefined);
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    minReplicas = 0,
  ): Promise<Reply<R>> {
    if (!this.isUp) {
      const details = { retryable: !this.#isClosed, outcome: 'none' } as const;
      return Promise.reject(new LockBackendError('no connection to Redis', details));
    }
    return new Promise<Reply<unknown>>((resolve, reject) => {
      const own = { minReplicas, resolve, reject, sentAt: 0, isResent: false };
      this.#due.push({ script: script, keys, args, ...own });
      if (this.#due.length === 1) process.nextTick(this.flush);
    }) as Promise<Reply<R>>;
  }

  readonly flush = (): void => {
    const due = this.#due.splice(0);
    if (due.length === 0) return;
    this.sendCount += 1;
    for (const call of due) {
      call.sentAt = this.site.process.clock.now();
      this.#pending.push(call);
      // A connection that broke in this turn sends it later.
      if (this.#link?.isCut === false) this.#send(this.#link, call);
    }
  };

  listen(channel: string, listener: ChannelListener): () => void {
    return this.#subscriptions.listen(channel, listener);
  }

  onUp(listener: () => void): () => void {
    this.#upListeners.add(listener);
    return () => {
      this.#upListeners.delete(listener);
    };
  }

  place(): KeyPlace {
    return PLACE;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.isUp = false;
    this.#upListeners.clear();
    this.#subscriptions.close();
    this.#link?.cut();
    for (const call of this.#pending.splice(0)) call.reject(brokenError());
    return Promise.resolve();
  }

  end(): void {
    // It has ended with the locks.
  }

  #connect(): void {
    const { site, address } = this;
    const link = new Link(site, address.master, () => {
      this.#onBroken(link);
    });
    this.#link = link;
    if (!address.master.isUp) {
      link.cut();
      return;
    }
    link.send(() => {
      link.deliver(() => {
        this.#onConnected(link);
      });
    });
  }

  #onConnected(link: Link): void {
    this.isUp = true;
    // As in the library: another server may be the master.
    this.#subscriptions.link?.cut();
    for (const call of this.#pending) {
      call.isResent = true;
      this.#send(link, call);
    }
    for (const listener of [...this.#upListeners]) listener();
  }

  #onBroken(link: Link): void {
    if (this.#link !== link || this.#isClosed) return;
    this.isUp = false;
    if (this.site.mishaps.happens('gives-up')) {
      for (const call of this.#pending.splice(0)) call.reject(brokenError());
    }
    const { clock } = this.site.process;
    clock.after(1 + this.site.world.random.next() * RECONNECT_MS, () => {
      if (!this.#isClosed) this.#connect();
    });
  }

  #send(link: Link, call: Call): void {
    const { mishaps } = this.site;
    if (mishaps.happens('unsent')) {
      link.cut();
      return;
    }
    const { server } = link;
    link.send(() => {
      const answer = this.#execute(server, call);
      if (mishaps.happens('unanswered')) link.cut();
      else if (call.minReplicas === 0) this.#deliver(link, call, answer);
      else this.#deliverReplicated(link, call, answer);
    });
  }

  #execute(server: WorldServer, { script, keys, args }: Call): () => unknown {
    try {
      const value = replyOf(server, script, keys, args);
      return () => script.decode(value);
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }

  #deliver(link: Link, call: Call, answer: () => unknown): void {
    link.deliver(() => {
      const { sentAt, isResent } = call;
      this.#pending = this.#pending.filter((one) => one !== call);
      try {
        call.resolve({ value: answer(), sentAt, resent: isResent });
      } catch (error) {
        const isOfReplica = error instanceof Error && READONLY.test(String(error.cause));
        // The replicas, too, may have another master by now.
        if (isOfReplica || error instanceof LockReplicationError) this.renew();
        call.reject(isResent && error instanceof LockBackendError ? asUnknown(error) : error);
      }
    });
  }

  /** The answer comes once the replicas have it, or with an error. */
  #deliverReplicated(link: Link, call: Call, answer: () => unknown): void {
    const { minReplicas } = call;
    link.server.whenInStep(minReplicas, WAIT_MS, (have) => {
      this.#deliver(link, call, () => {
        if (have < minReplicas) throw shortOfReplicasError(minReplicas, have);
        return answer();
      });
    });
  }

  /** Connects anew: another server may be the master. */
  renew(): void {
    this.#link?.cut();
    this.#subscriptions.link?.cut();
  }
}

function asUnknown(error: LockBackendError): LockBackendError {
  return error.amended(error.message, { outcome: 'unknown' });
}
