import { LockLimitError } from './errors.js';

/** The keys that callers of this connection wait for or hold. Of all others nothing is kept. */
export class KeysInUse {
  readonly #uses = new Map<string, { count: number }>();

  constructor(private readonly most: number) {}

  /** @throws {LockLimitError} the key would be one too many */
  admit(key: string, name: string): void {
    if (this.#uses.size < this.most || this.#uses.has(key)) return;
    throw new LockLimitError(name, 'maxKeys', this.most);
  }

  /** Begins a use of the key; the returned function ends it. */
  use(key: string): () => void {
    let use = this.#uses.get(key);
    if (use === undefined) this.#uses.set(key, (use = { count: 0 }));
    const used = use;
    used.count += 1;
    return () => {
      used.count -= 1;
      if (used.count === 0) this.#uses.delete(key);
    };
  }
}
