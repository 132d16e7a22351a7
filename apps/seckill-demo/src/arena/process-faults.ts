import { setTimeout as elapse } from 'node:timers/promises';
import type { ClusterFleet } from './cluster-fleet.js';
import type { ClusterMember } from './cluster-member.js';
import { ordersHeld } from './fleet.js';
import { RefusedError } from './refused-error.js';
import type { Struck } from './step.js';

/** A frozen, cut or blocked process recovers after this time. */
export const FAULT_MS = 10_000;
/** The holder is struck in the middle of its work: after the read, before the write. */
const WORKS_AT = 'before-write';
/** The work of the holder takes a second, so that a visitor sees who holds the lock. */
const WORK_MS = 1_000;
/** The lock of a dead process expires within this time, and another process acquires it. */
const HOLDER_LIMIT_MS = 15_000;

export type ProcessFault = 'kill' | 'freeze' | 'cut' | 'block';

/** Does to the processes of the shop what a visitor wants. Each fault but a kill ends by itself. */
export class ProcessFaults {
  /** The processes that have not recovered. */
  readonly #struck = new Set<ClusterMember>();

  constructor(
    private readonly fleet: ClusterFleet,
    private readonly report: (what: Struck['what'], member: ClusterMember) => void,
    private readonly signal: AbortSignal,
  ) {}

  /** Resolves when the fault has begun. */
  async strike(what: ProcessFault, pid: number): Promise<void> {
    await this.#strike(what, this.#member(pid));
  }

  /**
   * Strikes the process that holds the lock of the product, while its order works. Resolves when
   * the fault has begun. Rejects with a RefusedError if no order acquires the lock within 15 s.
   */
  async strikeHolder(what: 'kill' | 'freeze', startOrders: () => void): Promise<void> {
    const members = this.fleet.members.filter((one) => one.isAlive && !this.#struck.has(one));
    const limit = AbortSignal.any([this.signal, AbortSignal.timeout(HOLDER_LIMIT_MS)]);
    try {
      // A process that dies in the meantime closes no gate.
      const closed = Promise.all(members.map((one) => one.closeGate(WORKS_AT, 1)));
      await Promise.race([closed, elapse(WORK_MS, undefined, { ref: false })]);
      startOrders();
      await ordersHeld(this.fleet, WORKS_AT, 1, { members, signal: limit });
      const holder = members.find((one) => one.held(WORKS_AT) > 0);
      if (holder === undefined) {
        throw new RefusedError('no-holder', 'no process has acquired the lock: nothing to strike');
      }
      await elapse(WORK_MS, undefined, { signal: this.signal }).catch(() => undefined);
      await this.#strike(what, this.#member(holder.pid));
    } finally {
      // A frozen process reads this when it wakes up, and then writes too late.
      for (const member of members) member.openGate(WORKS_AT);
    }
  }

  async #strike(what: ProcessFault, member: ClusterMember): Promise<void> {
    if (what === 'kill') {
      this.report('killed', member);
      void member.kill();
      return;
    }
    if (this.#struck.has(member)) {
      throw new RefusedError('struck', `process ${member.pid} has not recovered yet`);
    }
    this.#struck.add(member);
    switch (what) {
      case 'freeze':
        this.report('frozen', member);
        void this.#later(member, 'thawed', () => {
          member.thaw();
        });
        await member.freeze();
        break;
      case 'cut':
        this.report('cut', member);
        member.cable?.cut();
        void this.#later(member, 'joined', () => {
          member.cable?.mend();
        });
        break;
      case 'block':
        this.report('blocked', member);
        member.block(FAULT_MS);
        void this.#later(member, 'unblocked');
        break;
    }
  }

  #member(pid: number): ClusterMember {
    const member = this.fleet.members.find((one) => one.pid === pid && one.isAlive);
    if (member === undefined) throw new RefusedError('gone', `no process has the pid ${pid}`);
    return member;
  }

  /** A process may have died, or the shop may have closed, in the meantime. */
  async #later(member: ClusterMember, what: Struck['what'], end?: () => void): Promise<void> {
    await elapse(FAULT_MS, undefined, { signal: this.signal }).catch(() => undefined);
    this.#struck.delete(member);
    if (member.isAlive) this.report(what, member);
    end?.();
  }
}
