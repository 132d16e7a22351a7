import { now } from './clock.mjs';

/** The fields of one visit: the caller, its place in the order of the calls, and the times. */
export const FLOW = 0;
export const PLACE = 1;
export const ASKED = 2;
export const ENTERED = 3;
export const LEFT = 4;
export const FIELDS = 5;

/** The visits of the callers of one process, in the order in which they acquired. */
export class Visits {
  isOpen = true;
  #rows = new Float64Array(1_024 * FIELDS);
  #count = 0;
  /** @type {Set<{ flow: number, place: number, at: number }>} */
  #waiting = new Set();
  #places = 0;
  /** @type {string | undefined} */
  #error;

  ask(flow) {
    const asked = { flow, place: this.#places++, at: now() };
    this.#waiting.add(asked);
    return asked;
  }

  enter(asked) {
    this.#waiting.delete(asked);
    const row = this.#count++ * FIELDS;
    if (row === this.#rows.length) this.#grow();
    this.#rows.set([asked.flow, asked.place, asked.at, now(), 0], row);
    return row;
  }

  leave(row) {
    // After the end, the row is not read.
    if (this.isOpen) this.#rows[row + LEFT] = now();
  }

  fail(error) {
    this.#error ??= String(error?.message ?? error);
  }

  /** A visit that begins later does not count. */
  close() {
    this.isOpen = false;
    const at = now();
    const rows = this.#rows.slice(0, this.#count * FIELDS);
    for (let row = 0; row < rows.length; row += FIELDS) rows[row + LEFT] ||= at;
    const waiting = [...this.#waiting].map((asked) => ({ flow: asked.flow, ms: at - asked.at }));
    return { rows, waiting, error: this.#error };
  }

  #grow() {
    const rows = new Float64Array(2 * this.#rows.length);
    rows.set(this.#rows);
    this.#rows = rows;
  }
}
