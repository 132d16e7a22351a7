import { channel } from 'node:diagnostics_channel';
import { LeaseLostError, type LockEventMessage } from 'nestjs-redis-lock';

/** Something that is hard to bring about happens to a lock, as far as this process can hear. */
export function publish(event: LockEventMessage): void {
  channel('nestjs-redis-lock:event').publish(event);
}

/** Everything that can go wrong does, once; the name and the error are secrets. */
export function publishTroubles(wakeUpLabel: string | undefined): void {
  const of = { connection: 'cache', name: 'secret', kind: 'fair', label: 'a <b>' } as const;
  const error = new Error('secret');
  publish({
    ...of,
    type: 'lost',
    reason: 'gone',
    heldMs: 5,
    error: new LeaseLostError('secret', 'gone'),
  });
  publish({ ...of, type: 'late-grant' });
  publish({ ...of, type: 'release-failed', leased: true, error });
  publish({ ...of, type: 'wake-up-failed', label: wakeUpLabel });
  publish({ ...of, type: 'force-released', holders: [], remainingMs: 0 });
  publish({ type: 'renewed', connection: 'cache', leases: 250 });
  publish({ type: 'renewal-failed', connection: 'cache', leases: 3, error });
  publish({ type: 'messages-failed', connection: 'cache', error });
  publish({ type: 'connection-failed', connection: 'cache', error });
}
