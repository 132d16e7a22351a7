import { channel } from 'node:diagnostics_channel';

import { tell, type LockEvent, type LockObserver } from '../core/api/observer.js';

/**
 * The messages of the channel `nestjs-redis-lock:event` of `node:diagnostics_channel`. `connection`
 * is the name of the connection of the event.
 */
export type LockEventMessage = LockEvent & { readonly connection: string };

const events = channel('nestjs-redis-lock:event');

/**
 * Passes every event on to the subscribers in this process. Makes no message without a subscriber.
 */
export class EventChannel implements LockObserver {
  constructor(
    private readonly connection: string,
    private readonly next: LockObserver | undefined,
  ) {}

  observe(event: LockEvent): void {
    if (events.hasSubscribers) events.publish({ ...event, connection: this.connection });
    tell(this.next, event);
  }
}
