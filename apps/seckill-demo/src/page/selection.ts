import { Observable } from './observable.js';

/** The cell that the visitor has chosen; without one, the page follows the run. */
class Selection extends Observable {
  #cell: string | undefined;

  get cell(): string | undefined {
    return this.#cell;
  }

  choose(cell: string | undefined): void {
    this.#cell = cell;
    this.changed();
  }
}

export const selection = new Selection();
