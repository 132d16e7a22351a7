import type { Step } from '../arena/step.js';
import { Observable } from './observable.js';
import { initialState, reduce } from './state.js';
import type { PageState } from './state.js';
import { StepLog } from './step-log.js';

/** The steps in order of arrival, and the state that results from them. */
export class Store extends Observable {
  readonly log = new StepLog();
  #state = initialState;
  #seenAt = 0;

  get state(): PageState {
    return this.#state;
  }

  add(steps: readonly Step[]): void {
    if (steps.length === 0) return;
    for (const step of steps) {
      this.log.add(step);
      this.#state = reduce(this.#state, step);
    }
    this.#seenAt = performance.now();
    this.changed();
  }

  /** The present, by the clock of the steps; it continues without steps. */
  get clock(): number {
    return this.#state.now + performance.now() - this.#seenAt;
  }

  /** A recording starts again from its beginning. */
  reset(): void {
    this.log.clear();
    this.#state = initialState;
    this.changed();
  }
}

export const store = new Store();
