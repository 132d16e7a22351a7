import { channel } from 'node:diagnostics_channel';
import type { LockEventMessage } from 'nestjs-redis-lock';

/** Something that is hard to bring about happens to a lock, as far as this process can hear. */
export function publish(event: LockEventMessage): void {
  channel('nestjs-redis-lock:event').publish(event);
}
