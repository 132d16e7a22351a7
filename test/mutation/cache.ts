import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Outcome } from './outcome.js';

/** The outcomes of former runs, so that a run can be cut and go on. */
export class Cache {
  readonly #outcomes = new Map<string, Outcome>();

  constructor(private readonly file: string) {
    if (!existsSync(file)) return;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (line.endsWith('}')) this.#keep(JSON.parse(line) as Outcome);
    }
  }

  get(key: string): Outcome | undefined {
    return this.#outcomes.get(key);
  }

  add(outcome: Outcome): void {
    this.#keep(outcome);
    appendFileSync(this.file, `${JSON.stringify(outcome)}\n`);
  }

  #keep(outcome: Outcome): void {
    this.#outcomes.set(outcome.key, { ...this.#outcomes.get(outcome.key), ...outcome });
  }
}
