import type { Stream } from 'node:stream';

import type { Cluster, Redis, RedisOptions } from 'ioredis';

import type {
  ClientEvents,
  ClientStatus,
  Evaluated,
  Listener,
  Route,
  Word,
} from '../connection/client.js';

/** ioredis' own words for its states, and the port's. */
const STATUS: Readonly<Record<string, ClientStatus>> = {
  wait: 'idle',
  connect: 'arriving',
  ready: 'ready',
  end: 'ended',
};

/** ioredis' own words for its events, and the port's. */
const EVENTS: Readonly<Record<keyof ClientEvents, readonly string[]>> = {
  connected: ['connect'],
  ready: ['ready'],
  broken: ['close'],
  failed: ['error'],
  ended: ['end'],
  message: ['message', 'smessage'],
  // ioredis 5 reports an error for an unsubscription without a request.
  astray: ['moved', 'error'],
  refreshed: ['refresh'],
};

/** The common part of a `Redis` and a `Cluster`. */
export abstract class IoredisClient<Inner extends Redis | Cluster> {
  #isEnded = false;

  constructor(readonly inner: Inner) {}

  get status(): ClientStatus {
    return this.#isEnded ? 'ended' : (STATUS[this.inner.status] ?? 'away');
  }

  /** ioredis stays ready for a moment after its end. */
  get isReady(): boolean {
    return this.inner.status === 'ready' && !this.#isEnded;
  }

  get readsInfo(): boolean {
    return this.inner.options.enableReadyCheck !== false;
  }

  async connect(): Promise<void> {
    if (this.inner.status === 'wait') await this.inner.connect();
  }

  /** A second end of ioredis would only keep the process alive. */
  end(): void {
    this.#isEnded = true;
    if (this.inner.status === 'end') return;
    // A socket that ends in its TLS handshake may fail twice, and ioredis listens to one error.
    const inner: Redis | Cluster = this.inner;
    for (const { stream } of 'nodes' in inner ? inner.nodes() : [inner]) {
      (stream as Stream | undefined)?.on('error', () => undefined);
    }
    inner.disconnect();
  }

  on<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void {
    for (const name of EVENTS[event]) this.inner.on(name, listener as () => void);
  }

  off<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void {
    for (const name of EVENTS[event]) this.inner.off(name, listener as () => void);
  }

  send(command: string, ...words: Word[]): Promise<unknown> {
    return this.inner.call(command, ...words);
  }

  evaluate(command: 'eval' | 'evalsha', words: Evaluated): Promise<unknown> {
    return (this.inner as Evaluating)[command](...words);
  }
}

/** The way to these hosts, with the user and the encryption of the options. */
export function routeTo(
  hosts: readonly string[],
  { username, password, tls }: RedisOptions,
): Route {
  return {
    ...{ hosts, user: username ?? '' },
    ...{ hasPassword: Boolean(password), isEncrypted: Boolean(tls) },
  };
}

export interface Evaluating {
  readonly eval: (...words: Evaluated) => Promise<unknown>;
  readonly evalsha: (...words: Evaluated) => Promise<unknown>;
}
