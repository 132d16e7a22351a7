/** The types of values that Redis' keys have here. */
export interface Types {
  readonly string: { text: string };
  readonly hash: Map<string, string>;
  readonly list: string[];
  readonly set: Set<string>;
  readonly zset: SortedSet;
}

export type TypeName = keyof Types;

interface Entry<T extends TypeName = TypeName> {
  readonly type: T;
  readonly value: Types[T];
  /** Wall time (ms). */
  endsAt: number;
}

/** Redis refuses a command. */
export class CommandError extends Error {}

const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** Members with scores, in the order of the scores. */
export class SortedSet {
  readonly #scores = new Map<string, number>();
  #sorted: readonly (readonly [member: string, score: number])[] | undefined;

  get size(): number {
    return this.#scores.size;
  }

  get(member: string): number | undefined {
    return this.#scores.get(member);
  }

  set(member: string, score: number): void {
    this.#scores.set(member, score);
    this.#sorted = undefined;
  }

  delete(member: string): boolean {
    this.#sorted = undefined;
    return this.#scores.delete(member);
  }

  get sorted(): readonly (readonly [member: string, score: number])[] {
    this.#sorted ??= [...this.#scores].sort(
      ([one, a], [other, b]) => a - b || (one < other ? -1 : Number(one > other)),
    );
    return this.#sorted;
  }
}

/** Keys that expire by a wall clock. While a script runs, its time stands still. */
export class Store {
  readonly #entries = new Map<string, Entry>();
  now = 0;

  /** @throws {CommandError} the key holds another type */
  find<T extends TypeName>(key: string, type: T): Types[T] | undefined {
    const entry = this.#entry(key);
    if (entry === undefined) return undefined;
    if (entry.type !== type) throw new CommandError(WRONG_TYPE);
    return entry.value as Types[T];
  }

  findOr<T extends TypeName>(key: string, type: T, make: () => Types[T]): Types[T] {
    const found = this.find(key, type);
    if (found !== undefined) return found;
    const value = make();
    this.put(key, type, value);
    return value;
  }

  put<T extends TypeName>(key: string, type: T, value: Types[T], endsAt = Infinity): void {
    this.#entries.set(key, { type, value, endsAt });
  }

  typeOf(key: string): TypeName | undefined {
    return this.#entry(key)?.type;
  }

  endOf(key: string): number | undefined {
    return this.#entry(key)?.endsAt;
  }

  expire(key: string, endsAt: number): boolean {
    const entry = this.#entry(key);
    if (entry === undefined) return false;
    entry.endsAt = endsAt;
    // As in Redis, an end that is not ahead deletes at once.
    if (endsAt <= this.now) this.#entries.delete(key);
    return true;
  }

  delete(key: string): boolean {
    return this.#entry(key) !== undefined && this.#entries.delete(key);
  }

  rename(key: string, to: string): boolean {
    const entry = this.#entry(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    this.#entries.set(to, entry);
    return true;
  }

  /** @returns how many of these fields or members were there */
  remove(key: string, type: 'hash' | 'set' | 'zset', members: readonly string[]): number {
    const value = this.find(key, type);
    if (value === undefined) return 0;
    const removed = members.filter((member) => value.delete(member)).length;
    this.dropIfEmpty(key, value.size);
    return removed;
  }

  /** A key goes with the last that was in it. */
  dropIfEmpty(key: string, size: number): void {
    if (size === 0) this.#entries.delete(key);
  }

  /** All keys that have not expired. */
  get keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#entry(key) !== undefined);
  }

  clear(): void {
    this.#entries.clear();
  }

  #entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.now <= entry.endsAt) return entry;
    this.#entries.delete(key);
    return undefined;
  }
}
