import type { Fault, FaultProxy } from '../../support/fault-proxy.js';
import type { ProxiedConnection } from '../../support/proxied-connection.js';
import { pause } from './pace.js';

export interface WayToCut {
  /** @param bytes that still pass, where `mostBytes` says how many that may be */
  readonly cut: (
    proxy: FaultProxy,
    where: (connection: ProxiedConnection) => boolean,
    bytes: number,
  ) => Fault | number;
  readonly mostBytes?: number;
}

/** By what they do to a connection. */
export const WAYS_TO_CUT = {
  reset: { cut: (proxy, where) => proxy.cut({ where, kind: 'rst' }) },
  'end of stream': { cut: (proxy, where) => proxy.cut({ where, kind: 'fin' }) },
  'lost reply': { cut: (proxy, where) => proxy.loseReply({ where, times: 1 }) },
  'lost request': { cut: (proxy, where) => proxy.loseRequest({ where, times: 1 }) },
  'request cut in the middle': {
    cut: (proxy, where, bytes) => proxy.cutAfter('toServer', bytes, { where }),
    mostBytes: 400,
  },
  'reply cut in the middle': {
    cut: (proxy, where, bytes) => proxy.cutAfter('toClient', bytes, { where }),
    mostBytes: 60,
  },
} as const satisfies Record<string, WayToCut>;

/** Each of them is looked at for each frame. */
const MOST_ARMED = 16;

/** Faults that wait for a frame. The oldest one is given up when there are too many. */
export class ArmedFaults {
  readonly #armed: Fault[] = [];

  add(fault: Fault | number): void {
    if (typeof fault === 'number') return;
    this.#armed.push(fault);
    if (this.#armed.length > MOST_ARMED) this.#armed.shift()?.heal();
  }
}

/**
 * Holds up what a client has to say, cuts it off, and delivers the requests late: after it has sent
 * them again on another connection.
 * @returns how many came late
 */
export async function comeAfterConnection(
  proxy: FaultProxy,
  victim: ProxiedConnection,
  { heldMs, lateMs }: { heldMs: number; lateMs: number },
): Promise<number> {
  const held = proxy.hold('toServer', { where: (connection) => connection === victim });
  await pause(heldMs);
  if (held.hits > 0) {
    victim.cut('rst', 'client');
    await pause(lateMs);
  }
  held.heal();
  return held.hits;
}
