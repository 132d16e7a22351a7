import { Observable } from '../observable.js';

export type ConnectionState =
  'connecting' | 'live' | 'broken' | 'closed' | 'no-token' | 'recorded' | 'missing';

/** The source of the steps, and whether they arrive. */
class Connection extends Observable {
  #state: ConnectionState = 'connecting';

  get state(): ConnectionState {
    return this.#state;
  }

  set(state: ConnectionState): void {
    this.#state = state;
    this.changed();
  }
}

export const connection = new Connection();
