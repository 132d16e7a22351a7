import { ByKey } from './by-key.js';
import type { CountedKey, Hold } from './hold.js';
import type { Holds } from './holds.js';
import type { OwnerId } from './protocol.js';

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
  /** The owner that was granted the lock while others here wait, until its call goes on. */
  grantedTo: OwnerId | undefined = undefined;
  /** The holds of this process that a writer excludes. */
  private readers = 0;
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

  /** The granted call goes on with this hold. Holds of this process that it excludes are lost. */
  heldBy(hold: Hold, holds: Holds): void {
    const { holder } = this;
    if (this.grantedTo === hold.owner) this.grantedTo = undefined;
    hold.countedKey = this;
    const { isShared, isReadSide } = hold.protocol;
    if (isShared && isReadSide !== true) return;
    if (isShared) this.readers += 1;
    else this.holder = hold;
    if (holder !== undefined) holds.exclude(holder, hold);
    if (!isShared && this.readers > 0) holds.excludeReaders(hold);
  }

  /** The hold is being released, or is over. Returns whether it was the holder until now. */
  leftBy(hold: Hold): boolean {
    if (this.holder !== hold) return false;
    this.holder = undefined;
    return true;
  }

  /** The lease was over before the granted call went on. */
  endLate(owner: OwnerId): void {
    if (this.grantedTo === owner) this.grantedTo = undefined;
    this.end();
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
