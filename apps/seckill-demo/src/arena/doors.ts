import type { Fleet } from './fleet.js';
import { ordersHeld } from './fleet.js';

/**
 * All buyers wait at the doors until the last one has arrived. Rushes that run side by side share
 * their doors. The gates of a process are the same for all orders: one rush would open the other's.
 */
export class Doors {
  #buyers = 0;
  #awaited: number;
  #shut: () => void = () => undefined;
  readonly #allKnown = new Promise<void>((resolve) => {
    this.#shut = resolve;
  });
  #closed: Promise<unknown> | undefined;

  constructor(
    private readonly fleet: Fleet,
    /** The number of rushes. */
    rushes: number,
  ) {
    this.#awaited = rushes;
  }

  /** Resolves when the doors are closed, for the buyers of every rush. */
  async close(buyers: number): Promise<void> {
    this.#buyers += buyers;
    this.#awaited -= 1;
    if (this.#awaited === 0) this.#shut();
    await this.#allKnown;
    this.#closed ??= Promise.all(
      this.fleet.members.map((member) => member.closeGate('doors', this.#buyers)),
    );
    await this.#closed;
  }

  everybodyThere(): Promise<boolean> {
    return ordersHeld(this.fleet, 'doors', this.#buyers);
  }

  open(): void {
    for (const member of this.fleet.members) member.openGate('doors');
  }
}
