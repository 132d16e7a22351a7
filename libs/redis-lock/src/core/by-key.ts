/**
 * What there is for each of some keys that come and go without end. A Map would hand on to V8's old
 * generation all that it ever held: each of its tables, once given up, points to the next one.
 */
export class ByKey<T> {
  readonly #values = Object.create(null) as Record<string, T | undefined>;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): T | undefined {
    return this.#values[key];
  }

  set(key: string, value: T): void {
    if (this.#values[key] === undefined) this.#size += 1;
    this.#values[key] = value;
  }

  delete(key: string): void {
    if (this.#values[key] === undefined) return;
    this.#size -= 1;
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- it is a table and no record
    delete this.#values[key];
  }

  values(): T[] {
    return Object.values(this.#values) as T[];
  }
}
