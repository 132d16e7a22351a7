import { createHash } from 'node:crypto';

/** A step of a history, in the order in which it happens. Times are in milliseconds of the world. */
export type Entry =
  /** It begins. The words repeat it. */
  | { readonly type: 'history'; readonly words: string }
  | {
      readonly type: 'call';
      readonly call: number;
      readonly process: string;
      readonly verb: string;
      readonly key: string;
      readonly options?: object;
    }
  /** The holder begins to release. */
  | { readonly type: 'release'; readonly call: number; readonly process: string }
  | {
      readonly type: 'return';
      readonly call: number;
      readonly process: string;
      readonly outcome: string;
      readonly owner?: string;
      readonly token?: number;
    }
  | { readonly type: 'fault'; readonly fault: string; readonly of: string; readonly ms?: number }
  | { readonly type: 'violation'; readonly promise: string; readonly text: string };

export type TimedEntry = Entry & { readonly at: number };

/** All calls, returns and faults of a world. */
export class History {
  readonly #hash = createHash('sha256');
  #calls = 0;

  constructor(
    private readonly now: () => number,
    private readonly tell: (entry: TimedEntry) => void = () => undefined,
  ) {}

  get hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  newCall(): number {
    this.#calls += 1;
    return this.#calls;
  }

  add(entry: Entry): void {
    const timed = { at: Math.round(this.now() * 1_000) / 1_000, ...entry };
    this.#hash.update(JSON.stringify(timed));
    this.tell(timed);
  }
}

/** A step in words. */
export function inWords(entry: TimedEntry): string {
  const at = entry.at.toFixed(3).padStart(12);
  switch (entry.type) {
    case 'history':
      return `${at} history: ${entry.words}`;
    case 'call': {
      const options = entry.options === undefined ? '' : ` ${JSON.stringify(entry.options)}`;
      return `${at} ${entry.process}: call ${String(entry.call)}: ${entry.verb} ${entry.key}${options}`;
    }
    case 'release':
      return `${at} ${entry.process}: call ${String(entry.call)} releases`;
    case 'return': {
      const token = entry.token === undefined ? '' : `, token ${String(entry.token)}`;
      const owner = entry.owner === undefined ? '' : `, owner ${entry.owner}`;
      return `${at} ${entry.process}: call ${String(entry.call)}: ${entry.outcome}${owner}${token}`;
    }
    case 'fault': {
      const ms = entry.ms === undefined ? '' : `, ${entry.ms.toFixed(1)} ms`;
      return `${at} fault: ${entry.fault} of ${entry.of}${ms}`;
    }
    case 'violation':
      return `${at} VIOLATION of "${entry.promise}": ${entry.text}`;
  }
}
