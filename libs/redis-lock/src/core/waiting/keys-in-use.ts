import { ByKey } from './by-key.js';
import { LockLimitError } from '../api/errors.js';
import type { OwnerId } from '../holding/protocol.js';
import type { Hold } from '../holding/hold.js';

/** The keys that callers of this connection wait for or hold. Of all others nothing is kept. */
export class KeysInUse {
  readonly #uses = new ByKey<KeyUse>();

  constructor(private readonly most: number) {}

  /** @throws {LockLimitError} the key would be one too many */
  admit(key: string, name: string): void {
    if (this.#uses.size < this.most || this.#uses.get(key) !== undefined) return;
    throw new LockLimitError(name, 'maxKeys', this.most);
  }

  /** Begins a use of the key, which has to be ended. */
  begin(key: string): KeyUse {
    let use = this.#uses.get(key);
    if (use === undefined) this.#uses.set(key, (use = new KeyUse(key, this.#uses)));
    use.count += 1;
    return use;
  }
}

/** One key that somebody waits for or holds. */
export class KeyUse {
  /** By so many. */
  count = 0;
  /** Who has it in this process, of what is handed on. */
  holder: Hold | undefined;
  /** Who was granted it while others of this process wait, and has not begun yet. */
  granted: OwnerId | undefined;

  constructor(
    private readonly key: string,
    private readonly all: ByKey<KeyUse>,
  ) {}

  end(): void {
    this.count -= 1;
    if (this.count === 0) this.all.delete(this.key);
  }
}
