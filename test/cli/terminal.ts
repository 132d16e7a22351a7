import type { Terminal } from '../../libs/redis-lock/src/cli/io.js';

/** A person who answers every question in this way. */
export class Person implements Terminal {
  readonly questions: string[] = [];
  /** Runs before the answer. */
  beforeAnswer: () => Promise<unknown> = () => Promise.resolve();

  constructor(private readonly answer = '') {}

  async ask(question: string): Promise<string> {
    this.questions.push(question);
    await this.beforeAnswer();
    return this.answer;
  }
}
