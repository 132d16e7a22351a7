import type { Terminal } from '../../libs/redis-lock/src/cli/io.js';

/** A person who answers every question in this way, and presses keys when told to. */
export class Person implements Terminal {
  rows = 24;
  columns = 200;
  readonly questions: string[] = [];
  /** Runs before the answer. */
  beforeAnswer: () => Promise<unknown> = () => Promise.resolve();
  #listener: ((key: string) => void) | undefined;

  constructor(private readonly answer = '') {}

  get isListenedTo(): boolean {
    return this.#listener !== undefined;
  }

  async ask(question: string): Promise<string> {
    this.questions.push(question);
    await this.beforeAnswer();
    return this.answer;
  }

  onKey(listener: (key: string) => void): () => void {
    this.#listener = listener;
    return () => (this.#listener = undefined);
  }

  press(key: string): void {
    this.#listener?.(key);
  }
}
