import type { ResolvedAcquireOptions } from './api/options.js';
import { ByKey } from './holding/by-key.js';
import { HeldLease } from './holding/held-lease.js';
import { Hold } from './holding/hold.js';
import { KeyUse } from './holding/keys-in-use.js';
import type { HoldProtocol } from './holding/protocol.js';
import { Release, type Releases } from './release.js';
import { Waiter } from './waiting/waiter.js';
import { newQueue } from './waiting/wait-queues.js';

/**
 * One instance of each class that lives as long as a call, kept as long as the session. V8 drops
 * the compiled code of a class with its last instance. A field that once held a fraction gives its
 * class another shape. So these times are fractions, too.
 */
export function shapesOf(
  releases: Releases,
  protocol: HoldProtocol,
  options: ResolvedAcquireOptions,
): readonly object[] {
  const { session, queues } = releases;
  const hold = new Hold(session, protocol, '', '', options);
  hold.confirm(TIME, options.leaseTimeMs);
  hold.renewAt = TIME;
  const waiter = new Waiter(session, hold, hold, options.waitTimeMs, undefined, TIME);
  waiter.sentAt = TIME;
  const lease = new HeldLease(hold, 0, undefined, undefined, TIME, options, releases);
  const release = new Release(releases, lease, NOTHING, NOTHING);
  release.askedAt = TIME;
  const use = new KeyUse('', new ByKey());
  return [waiter, lease, release, use, newQueue(queues, hold, use)];
}

const NOTHING = () => undefined;
const TIME = 0.5;
