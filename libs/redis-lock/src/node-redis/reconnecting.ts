import { EventEmitter } from 'node:events';

import {
  reconnectDelayMs,
  type ClientEvents,
  type ClientStatus,
  type Listener,
} from '../connection/client.js';
import { outOfScope } from '../core/time/clock.js';
import { named } from './reply.js';

/** The common part of a node and a Cluster: a status, events, and a pause before each attempt. */
export abstract class Reconnecting {
  readonly remedy = 'set its reconnectStrategy';
  readonly readsInfo = true;
  status: ClientStatus = 'idle';
  isReady = false;
  readonly #events = new EventEmitter();
  /** Since it was ready. */
  #attempts = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor() {
    // Every waiter for a connection adds one.
    this.#events.setMaxListeners(0);
  }

  /** Connects an idle client. Settles with the present attempt. */
  connect(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown) => {
        const failure = error as Error | undefined;
        this.off('ready', settle);
        this.off('failed', settle);
        this.off('ended', onEnd);
        if (failure === undefined) resolve();
        else reject(failure);
      };
      const onEnd = () => {
        settle(new Error('The client is closed'));
      };
      this.on('ready', settle);
      this.on('failed', settle);
      this.on('ended', onEnd);
      if (this.status === 'ended') onEnd();
      else if (this.status === 'idle') this.#begin();
    });
  }

  end(): void {
    if (this.hasEnded()) return;
    this.status = 'ended';
    this.isReady = false;
    clearTimeout(this.#pause);
    this.close();
    this.tell('ended');
  }

  on<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void {
    this.#events.on(event, listener as () => void);
  }

  off<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void {
    this.#events.off(event, listener as () => void);
  }

  protected tell<Event extends keyof ClientEvents>(
    event: Event,
    ...details: ClientEvents[Event]
  ): void {
    this.#events.emit(event, ...details);
  }

  /** A listener may have ended it. */
  protected hasEnded(): boolean {
    return this.status === 'ended';
  }

  protected becomeReady(): void {
    this.#attempts = 0;
    this.status = 'ready';
    this.isReady = true;
    this.tell('ready');
  }

  protected becomeAway(): void {
    this.isReady = false;
    this.status = 'away';
  }

  /** It connects again, after a pause. */
  protected beginAgain(): void {
    const delayMs = reconnectDelayMs(Math.max(1, this.#attempts));
    this.#pause = outOfScope(() => setTimeout(this.#begin, delayMs));
  }

  protected readonly onFailed = (error: unknown): void => {
    if (!this.hasEnded()) this.tell('failed', named(error));
  };

  /** Never rejects. */
  protected abstract attempt(): Promise<void>;
  protected abstract close(): void;

  readonly #begin = (): void => {
    this.becomeAway();
    this.#attempts += 1;
    outOfScope(() => void this.attempt());
  };
}
