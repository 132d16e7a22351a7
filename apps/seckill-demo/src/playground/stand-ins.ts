// The browser has no modules of Node. The bundle takes these in their place, for what the library
// needs in the playground. The page names each of them.

let present = new Map<object, unknown>();

function within<T>(stores: Map<object, unknown>, work: () => T): T {
  const before = present;
  present = stores;
  try {
    return work();
  } finally {
    present = before;
  }
}

/** Knows its store until the first `await`. The strategies acquire no lock inside of another. */
export class AsyncLocalStorage<S> {
  static snapshot(): <T>(work: () => T) => T {
    const stores = present;
    return (work) => within(stores, work);
  }

  run<T>(store: S, work: () => T): T {
    return within(new Map([...present, [this, store]]), work);
  }

  getStore(): S | undefined {
    return present.get(this) as S | undefined;
  }
}

export class AsyncResource {
  readonly #stores = present;

  runInAsyncScope<T>(work: (...args: unknown[]) => T, self?: unknown, ...args: unknown[]): T {
    return within(this.#stores, () => work.apply(self, args));
  }
}

/** Without subscribers. */
export const channel = (): object => ({ hasSubscribers: false });
export const tracingChannel = channel;

export const inspect = { custom: Symbol.for('nodejs.util.inspect.custom') };

export const types = {
  isGeneratorObject: (value: unknown): boolean =>
    Object.prototype.toString.call(value) === '[object Generator]',
};

/** For the names of scripts only: they are found by their texts. */
export function createHash(): object {
  const hash = { update: () => hash, digest: () => '0'.repeat(40) };
  return hash;
}

export const hostname = (): string => 'browser';

/** All that is random comes from the seed. */
export const randomUUID = (): never => {
  throw new Error('the playground draws from its seed alone');
};
export const randomFillSync = randomUUID;

/** Browsers run `queueMicrotask` of no other object. */
export const process = {
  pid: 1,
  nextTick: (work: () => void): void => {
    queueMicrotask(work);
  },
};

export class Buffer extends Uint8Array {
  static alloc(length: number): Buffer {
    return new Buffer(length);
  }

  static byteLength(text: string): number {
    return new TextEncoder().encode(text).length;
  }

  /** Hexadecimal digits, two for each byte. */
  write(digits: string): void {
    for (let at = 0; at < this.length; at += 1) {
      this[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
    }
  }

  override toString(_encoding?: string, from = 0, to = this.length): string {
    return Array.from(this.subarray(from, to), (byte) => byte.toString(16).padStart(2, '0')).join(
      '',
    );
  }
}
