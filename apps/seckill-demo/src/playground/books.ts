/** One piece of stock, sold twice. */
export interface Oversold {
  readonly at: number;
  /** The pieces are numbered from the last one down to 1. */
  readonly piece: number;
  /** The callers, by the order of their writes. */
  readonly callers: readonly [first: string, second: string];
}

/** All writes to the stock, in the order in which Redis has run them. */
export class Books {
  /** The seller of each piece. */
  readonly #sellers = new Map<number, string>();
  readonly #writing: { readonly caller: string; readonly left: number }[] = [];
  orders = 0;
  oversold: Oversold | undefined;

  constructor(
    private readonly now: () => number,
    public stock: number,
  ) {}

  /** This caller is about to write. */
  writing(caller: string, left: number): void {
    this.#writing.push({ caller, left });
  }

  /** Redis has stored this stock. */
  wrote(left: number): void {
    this.stock = left;
    const at = this.#writing.findIndex((one) => one.left === left);
    const [write] = at === -1 ? [] : this.#writing.splice(at, 1);
    if (write === undefined) return;
    this.orders += 1;
    const piece = left + 1;
    const first = this.#sellers.get(piece);
    this.#sellers.set(piece, first ?? write.caller);
    if (first === undefined) return;
    this.oversold ??= { at: this.now(), piece, callers: [first, write.caller] };
  }
}
