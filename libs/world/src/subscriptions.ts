import type { ChannelListener } from '../../redis-lock/src/core/redis/connection.js';
import { bytesOf, textOfBytes } from '../../redis-lock/src/testing/server/bytes.js';
import type { Subscriber } from '../../redis-lock/src/testing/server/redis-server.js';
import { Link, type Address, type Site } from './link.js';

/** The pause before the connection for messages is made anew. */
const AGAIN_MS = 50;

/** The connection of a process for messages: made for the first listener, and replaced when it breaks. */
export class Subscriptions {
  link: Link | undefined;
  readonly #listeners = new Map<string, Set<ChannelListener>>();
  readonly #unconfirmed = new Set<string>();
  readonly #subscribed = new Map<string, () => void>();
  #isClosed = false;

  constructor(
    private readonly site: Site,
    private readonly address: Address,
  ) {}

  get isHearing(): boolean {
    return this.#listeners.size === 0 || (this.link !== undefined && this.#unconfirmed.size === 0);
  }

  listen(channel: string, listener: ChannelListener): () => void {
    const known = this.#listeners.get(channel);
    const listeners = known ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    if (this.link === undefined) this.#connect();
    else if (known === undefined) this.#subscribe(this.link, channel);
    else if (!this.#unconfirmed.has(channel)) {
      queueMicrotask(() => {
        if (listeners.has(listener)) listener.confirmed();
      });
    }
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0 || this.#listeners.get(channel) !== listeners) return;
      this.#listeners.delete(channel);
      this.#unconfirmed.delete(channel);
      this.#unsubscribe(channel);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.link?.cut();
  }

  #connect(): void {
    const { site, address } = this;
    const link = new Link(site, address.master, () => {
      this.#onBroken(link);
    });
    this.link = link;
    if (!address.master.isUp) link.cut();
    else for (const channel of this.#listeners.keys()) this.#subscribe(link, channel);
  }

  #subscribe(link: Link, channel: string): void {
    this.#unconfirmed.add(channel);
    const asked = this.#listeners.get(channel);
    const { server } = link;
    link.send(() => {
      if (this.#subscribed.has(channel)) this.#subscribed.get(channel)?.();
      const end = server.subscribe(bytesOf(channel), this.#subscriber(link, channel), false);
      this.#subscribed.set(channel, end);
      link.onForgotten(end);
      link.deliver(() => {
        if (this.#listeners.get(channel) !== asked) return;
        if (!this.#unconfirmed.delete(channel)) return;
        for (const listener of asked ?? []) listener.confirmed();
      });
    });
  }

  #subscriber(link: Link, channel: string): Subscriber {
    return {
      message: (_channel, message) => {
        if (this.site.mishaps.happens('messages')) return;
        link.deliver(() => {
          const text = textOfBytes(message);
          for (const listener of this.#listeners.get(channel) ?? []) listener.message(text);
        });
      },
    };
  }

  #unsubscribe(channel: string): void {
    const { link } = this;
    link?.send(() => {
      // A listener may have come meanwhile.
      if (this.#listeners.has(channel)) return;
      this.#subscribed.get(channel)?.();
      this.#subscribed.delete(channel);
    });
  }

  #onBroken(link: Link): void {
    if (this.link !== link) return;
    this.link = undefined;
    this.#subscribed.clear();
    if (this.#isClosed) return;
    for (const channel of this.#listeners.keys()) this.#unconfirmed.add(channel);
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) listener.lost?.();
    }
    this.site.process.clock.after(AGAIN_MS, () => {
      if (!this.#isClosed && this.link === undefined && this.#listeners.size > 0) this.#connect();
    });
  }
}
