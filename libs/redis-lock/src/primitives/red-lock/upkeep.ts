import { ACQUIRE } from '../lua/hash-lock.js';
import type { AcquireAnswer, OwnerId, Renewal } from '../../core/holding/protocol.js';
import type { Ballot } from './ballot.js';
import type { QuorumConnection } from './quorum-connection.js';
import { GIVE_BACK } from './red-lock.scripts.js';
import type { Ask, VotingNode } from './voting-node.js';

/**
 * The pause between two attempts to put a lock on a node that refuses it. It doubles from the first
 * to the last.
 */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 320;

/** Brings the nodes up to date with the holds of this process, in the background. */
export class Upkeep {
  /** The owners that hold a lock, as this process knows it, and when each sent its request. */
  readonly #holders = new Map<OwnerId, number>();

  constructor(private readonly connection: QuorumConnection) {}

  /** The owner is a holder from now on. */
  begin(owner: OwnerId, sentAt: number): void {
    this.#holders.set(owner, sentAt);
  }

  /**
   * The owner holds nothing from now on: no further script puts a lock on a node for it. Returns
   * when it sent its request, if it was a holder.
   */
  end(owner: OwnerId): number | undefined {
    const sentAt = this.#holders.get(owner);
    this.#holders.delete(owner);
    return sentAt;
  }

  /**
   * Puts a lock that a majority has confirmed on the nodes that answered without it. Some gave
   * their vote to an owner that will return it. A bare majority can spare none of its nodes. Others
   * have forgotten the lock: during a long hold all may restart, one after the other.
   * @param has whether a node has it; rejects when it did not answer
   */
  complete(hold: Renewal, sentAt: number, has: (node: number) => Promise<boolean>): void {
    this.connection.nodes.forEach((node, i) => {
      this.#completeAt(node, hold, sentAt, has(i)).catch(() => undefined);
    });
  }

  /**
   * Takes the owner's votes back from every node that may have given one: in that poll, or at any
   * time.
   */
  giveBack(key: string, owner: OwnerId, poll?: Ballot<AcquireAnswer>): void {
    const { connection } = this;
    const since = this.end(owner);
    const limitMs = connection.limitMs(Infinity);
    const pay = giveBackOf(key, owner);
    connection.nodes.forEach((node, i) => {
      if (poll?.mayHaveDone(i, ({ kind }) => kind === 'granted') === false) return;
      node.giveBack(owner, limitMs, pay, since).catch(() => undefined);
    });
  }

  async #completeAt(node: VotingNode, hold: Renewal, sentAt: number, isHeld: Promise<boolean>) {
    const { clock } = this.connection;
    const { key, owner, renewMs } = hold;
    if (await isHeld) return;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      const leaseMs = Math.ceil(sentAt + renewMs - clock.now());
      // Both answers may come after the release.
      if (leaseMs <= 0 || !this.#holders.has(owner)) return;
      const { kind } = await node.enter(owner, this.connection.limitMs(renewMs), (redis) =>
        redis.run(ACQUIRE, [key], [owner, leaseMs]),
      );
      if (kind === 'granted' || pauseMs > LAST_PAUSE_MS) return;
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve)?.unref());
    }
  }
}

/** A function of its own, so that a debt keeps no poll in memory. */
function giveBackOf(key: string, owner: OwnerId): Ask<number> {
  return (redis) => redis.run(GIVE_BACK, [key], [owner]);
}
