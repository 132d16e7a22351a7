import { ByKey } from './by-key.js';
import { LockLimitError } from './errors.js';

/** One key that somebody waits for or holds. */
export interface KeyUse {
  readonly key: string;
  /** By so many. */
  count: number;
}

/** The keys that callers of this connection wait for or hold. Of all others nothing is kept. */
export class KeysInUse {
  readonly #uses = new ByKey<KeyUse>();

  constructor(private readonly most: number) {}

  /** @throws {LockLimitError} the key would be one too many */
  admit(key: string, name: string): void {
    if (this.#uses.size < this.most || this.#uses.get(key) !== undefined) return;
    throw new LockLimitError(name, 'maxKeys', this.most);
  }

  /** Begins a use of the key, which `end` ends. */
  begin(key: string): KeyUse {
    let use = this.#uses.get(key);
    if (use === undefined) this.#uses.set(key, (use = { key, count: 0 }));
    use.count += 1;
    return use;
  }

  end(use: KeyUse): void {
    use.count -= 1;
    if (use.count === 0) this.#uses.delete(use.key);
  }
}
