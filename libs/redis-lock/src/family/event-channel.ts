import { channel } from 'node:diagnostics_channel';

import {
  hearsCalls,
  tell,
  type InnerObserver,
  type LockEvent,
  type LockObserver,
} from '../core/api/observer.js';

/**
 * The message of the channel `nestjs-redis-lock:event` of `node:diagnostics_channel`. `connection`
 * is the name of the connection that the event comes from.
 */
export type LockEventMessage = LockEvent & { readonly connection: string };

const events = channel('nestjs-redis-lock:event');

/** Passes every event on, and publishes it in this process if there are subscribers. */
export class EventChannel implements InnerObserver {
  constructor(
    private readonly connection: string,
    private readonly next: LockObserver | undefined,
  ) {}

  get hearsCalls(): boolean {
    return events.hasSubscribers || (this.next !== undefined && hearsCalls(this.next));
  }

  observe(event: LockEvent): void {
    if (events.hasSubscribers) events.publish({ ...event, connection: this.connection });
    tell(this.next, event);
  }
}
