/**
 * Values of keys that come and go without end. A Map would move all of them to V8's old generation,
 * because each outgrown table points to the next one.
 */
export class ByKey<T> {
  /**
   * A key that came when there were no others. Often it is the only one, and a table costs more.
   */
  #firstKey: string | undefined;
  #first: T | undefined;
  readonly #others = Object.create(null) as Record<string, T | undefined>;
  #otherCount = 0;

  get size(): number {
    return this.#firstKey === undefined ? this.#otherCount : this.#otherCount + 1;
  }

  get(key: string): T | undefined {
    if (key === this.#firstKey) return this.#first;
    return this.#otherCount === 0 ? undefined : this.#others[key];
  }

  /** For a key without a value. */
  add(key: string, value: T): void {
    if (this.#firstKey === undefined && this.#otherCount === 0) {
      this.#firstKey = key;
      this.#first = value;
    } else {
      this.#otherCount += 1;
      this.#others[key] = value;
    }
  }

  delete(key: string): void {
    if (key === this.#firstKey) {
      this.#firstKey = undefined;
      this.#first = undefined;
    } else if (key in this.#others) {
      this.#otherCount -= 1;
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- it is a table and no record
      delete this.#others[key];
    }
  }

  /** In the order of arrival, as long as no key is an array index. */
  values(): T[] {
    const others = Object.values(this.#others) as T[];
    return this.#first === undefined ? others : [this.#first, ...others];
  }
}
