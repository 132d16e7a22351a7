import type { Fleet } from './fleet.js';
import { ordersHeld } from './fleet.js';

/**
 * Where all buyers stand until everybody is there. Rushes that go on side by side share their doors: the
 * gates of a process are the same for all orders, and one rush would open those of the other.
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
    /** How many rushes there are. */
    rushes: number,
  ) {
    this.#awaited = rushes;
  }

  /** Resolves when they are closed, for the buyers of every rush. */
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
