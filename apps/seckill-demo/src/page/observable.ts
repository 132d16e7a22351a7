/** Something that the page shows, and that tells when it has changed. */
export class Observable {
  readonly #listeners = new Set<() => void>();

  /** Returns what ends the subscription. */
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
