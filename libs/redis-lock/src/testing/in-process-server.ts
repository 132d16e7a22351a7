import { randomUUID } from 'node:crypto';

import type { Clock } from '../core/time/clock.js';
import { LockStateError } from '../core/api/errors.js';
import type { ChannelListener } from '../core/redis/connection.js';

/** The value of a key. */
export abstract class Value {
  /** When it expires, by the clock of the server. */
  endsAt = Infinity;
}

/** A number: free permits, a latch, the last fencing token, or the marker of a request. */
export class Count extends Value {
  constructor(public count: number) {
    super();
  }
}

/** Replaces Redis: keys that expire by a clock, and channels, in this process alone. */
export class InProcessServer {
  readonly id = randomUUID().replaceAll('-', '');
  readonly #values = new Map<string, Value>();
  readonly #listeners = new Map<string, Set<ChannelListener>>();

  constructor(readonly clock: Clock) {}

  get now(): number {
    return this.clock.now();
  }

  /** In µs of wall time, as fencing tokens count. */
  get wallUs(): number {
    return Math.floor(this.clock.wall() * 1_000);
  }

  /** The channels with a listener. */
  get channels(): string[] {
    return [...this.#listeners.keys()];
  }

  /** @throws {LockStateError} the key holds something else */
  find<V extends Value>(key: string, type: abstract new (...args: never[]) => V): V | undefined {
    const value = this.peek(key);
    if (value === undefined || value instanceof type) return value;
    throw new LockStateError(
      'The key holds another kind of value: use another name, or a keyPrefix',
    );
  }

  /** The value of any type. */
  peek(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined || value.endsAt > this.now) return value;
    this.#values.delete(key);
    return undefined;
  }

  /** @returns the value, which the key holds from now on */
  put<V extends Value>(key: string, value: V, ttlMs = Infinity): V {
    value.endsAt = this.now + ttlMs;
    this.#values.set(key, value);
    return value;
  }

  /** @returns the value that the key holds, which is this one if there was none */
  findOr<V extends Value>(
    key: string,
    type: abstract new (...args: never[]) => V,
    make: () => V,
  ): V {
    return this.find(key, type) ?? this.put(key, make());
  }

  delete(key: string): boolean {
    return this.peek(key) !== undefined && this.#values.delete(key);
  }

  /** Never shortens it: a promised lease stays promised. */
  prolong(value: Value, ttlMs: number): void {
    value.endsAt = Math.max(value.endsAt, this.now + ttlMs);
  }

  leftOf({ endsAt }: Value): number {
    return Math.max(0, endsAt - this.now);
  }

  /** Calls the listeners after the present step. */
  publish(channel: string, message: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      void Promise.resolve().then(() => {
        if (this.#listeners.get(channel)?.has(listener) === true) listener.message(message);
      });
    }
  }

  /** @returns a function that ends it */
  listen(channel: string, listener: ChannelListener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    void Promise.resolve().then(() => {
      if (listeners.has(listener)) listener.confirmed();
    });
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(channel) === listeners) {
        this.#listeners.delete(channel);
      }
    };
  }
}
