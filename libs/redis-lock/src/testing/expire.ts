import type { Hold } from '../core/hold.js';
import { leasesKey } from '../primitives/semaphore/permit-protocol.js';
import type { InProcessServer } from './in-process-server.js';
import { PermitLeases } from './permit-answers.js';

/** Ends on a server what somebody holds, and with it what others hold by the same key. */
export function expire(server: InProcessServer, { protocol, key, owner }: Hold): void {
  if (protocol.kind !== 'semaphore') {
    server.delete(key);
    return;
  }
  const leases = server.peek(leasesKey(key));
  if (!(leases instanceof PermitLeases)) return;
  for (const permit of owner.split(',')) leases.ends.set(permit, server.now);
}
