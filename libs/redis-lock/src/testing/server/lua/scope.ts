interface Local {
  readonly name: string;
  readonly slot: number;
  readonly isInLoop: boolean;
}

/** The locals of a function while its text is read. */
export class Scope {
  #locals: Local[] = [];
  #slots = 0;
  #loops = 0;

  constructor(
    readonly outer: Scope | undefined,
    readonly takesRest: boolean,
  ) {}

  /** @returns the slot of the new local */
  declare(name: string): number {
    this.#locals.push({ name, slot: this.#slots, isInLoop: this.#loops > 0 });
    this.#slots += 1;
    return this.#slots - 1;
  }

  /** Reads a block, whose locals end with it. */
  block<T>(read: () => T, isLoop = false): T {
    const outside = [...this.#locals];
    this.#loops += Number(isLoop);
    const result = read();
    this.#loops -= Number(isLoop);
    this.#locals = outside;
    return result;
  }

  /** The innermost local of this name, and how many functions are between. */
  find(name: string, depth = 0): { readonly local: Local; readonly depth: number } | undefined {
    const local = this.#locals.findLast((one) => one.name === name);
    return local === undefined ? this.outer?.find(name, depth + 1) : { local, depth };
  }
}
