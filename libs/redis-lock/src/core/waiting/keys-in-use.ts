import type { CountedKey, Hold } from '../holding/hold.js';
import type { Holds } from '../holding/holds.js';
import type { OwnerId } from '../holding/protocol.js';
import { ByKey } from './by-key.js';
import type { WaitQueue } from './wait-queue.js';
import type { Waiter } from './waiter.js';

/** The keys that callers of a session hold or wait for. Other keys leave nothing here. */
export class KeysInUse extends ByKey<KeyUse> {
  constructor(readonly most: number) {
    super();
  }

  /** Begins a use of the key. The caller must end it. */
  begin(key: string): KeyUse {
    return this.get(key)?.begin() ?? this.beginFirst(key);
  }

  /** As `begin`, for a key that is not in use. */
  beginFirst(key: string): KeyUse {
    const use = new KeyUse(key, this);
    this.add(key, use);
    return use;
  }
}

/** One key that callers of this process hold or wait for. */
export class KeyUse implements CountedKey {
  /** The last hold of this process that excludes all others. */
  holder: Hold | undefined = undefined;
  /** The holds of this process that a writer excludes. */
  readers = 0;
  /**
   * The only waiter, which sends its attempts without a queue. A queue opens when others come, or
   * when it has to wait.
   */
  alone: Waiter | undefined = undefined;
  /**
   * The queue of the first kind that has one. `WaitQueues` keeps those of other kinds and of single
   * owners.
   */
  queue: WaitQueue | undefined = undefined;
  /** The owner that was granted the lock while others here wait, until its call goes on. */
  granted: OwnerId | undefined = undefined;
  /** The first use has begun. */
  private count = 1;

  constructor(
    private readonly key: string,
    private readonly all: ByKey<KeyUse>,
  ) {}

  /** One hold or one waiter is the only use of the key by this process. */
  get isOnly(): boolean {
    return this.count === 1;
  }

  /** Redis has granted this hold. Holds of this process that it excludes are lost. */
  heldBy(hold: Hold, holds: Holds): void {
    const { holder } = this;
    const { isShared, isReadSide } = hold.protocol;
    if (isShared && isReadSide !== true) return;
    if (isShared) this.readers += 1;
    else this.holder = hold;
    if (holder !== undefined) holds.exclude(holder, hold);
    if (!isShared && this.readers > 0) holds.excludeReaders(hold);
  }

  begin(): this {
    this.count += 1;
    return this;
  }

  /** @param isReader the use was a hold that a writer excludes */
  end(isReader = false): void {
    if (isReader) this.readers -= 1;
    this.count -= 1;
    if (this.count === 0) this.all.delete(this.key);
  }
}
