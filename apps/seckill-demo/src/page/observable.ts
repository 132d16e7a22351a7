/** A value that the page shows, and that reports its changes. */
export class Observable {
  readonly #listeners = new Set<() => void>();

  /** Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  protected changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
