import { EventEmitter } from 'node:events';

import type { ClientEvents, ClientStatus, Listener } from '../connection/client.js';

/** The common part of a node and a Cluster: a status, and events. */
export abstract class EventSource {
  status: ClientStatus = 'idle';
  isReady = false;
  readonly #events = new EventEmitter();

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
      else if (this.status === 'idle') this.begin();
    });
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

  protected abstract begin(): void;
}
