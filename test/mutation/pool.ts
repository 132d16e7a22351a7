import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Mutant } from './mutants.js';
import type { Outcome } from './outcome.js';
import type { Order } from './worker.js';

type Settle = (mutant: Mutant, outcome: Partial<Outcome>) => void;

interface Answer {
  readonly index: number;
  readonly outcome?: Partial<Outcome>;
  readonly error?: string;
}

/** A mutant that ends its worker twice. */
const NO_ANSWER: Readonly<Record<Order['work'], Partial<Outcome>>> = {
  record: {},
  states: { state: 'a case that makes the next one fail' },
  calls: { call: null },
  simulation: { history: null, isSilent: true },
};

/** A process that gets no further with a mutant is ended. */
const LONGEST_MS = 180_000;

/** Worker processes that judge one mutant after the other. */
export class Pool {
  #due: number[] = [];
  #done = 0;
  #tries = new Map<number, number>();

  constructor(
    private readonly order: Order,
    private readonly size: number,
  ) {}

  /** Gives the order to one worker, and waits for its end. */
  async run(): Promise<void> {
    const child = this.#fork();
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`the worker for ${this.order.work} has failed`);
  }

  async judge(mutants: readonly Mutant[], all: readonly Mutant[], settle: Settle): Promise<void> {
    const places = new Map(all.map((mutant, i) => [mutant, i]));
    this.#due = mutants.map((mutant) => places.get(mutant) ?? -1);
    const settled = (index: number, outcome: Partial<Outcome>) => {
      this.#done += 1;
      if (this.#done % 100 === 0) {
        console.error(`${this.order.work}: ${String(this.#done)} of ${String(mutants.length)}`);
      }
      settle(all[index] as Mutant, outcome);
    };
    const work = async () => {
      while (this.#due.length > 0) await this.#session(settled);
    };
    await Promise.all(Array.from({ length: Math.min(this.size, mutants.length) }, work));
  }

  #fork(): ChildProcess {
    // Specs that draw random numbers ask for their seed.
    const env = { LOCK_SEED: '1', ...process.env };
    const child = fork(new URL('./worker.js', import.meta.url), [], { execArgv: [], env });
    child.send(this.order);
    return child;
  }

  /** One worker, until it ends or nothing is due. */
  async #session(settled: (index: number, outcome: Partial<Outcome>) => void): Promise<void> {
    const child = this.#fork();
    let current: number | undefined;
    let answers = 0;
    let timer: NodeJS.Timeout | undefined;
    const next = () => {
      clearTimeout(timer);
      timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
      current = this.#due.shift();
      // No mutant has this number: the worker ends.
      child.send(current ?? -1);
    };
    child.on('message', (answer: Answer | 'ready') => {
      if (answer !== 'ready' && answer.outcome !== undefined) {
        settled(answer.index, answer.outcome);
        current = undefined;
      }
      answers += 1;
      if (answer === 'ready' || answer.error === undefined) next();
    });
    await once(child, 'exit');
    if (answers === 0) throw new Error(`a worker for ${this.order.work} cannot begin`);
    clearTimeout(timer);
    if (current !== undefined) this.#retry(current, settled);
  }

  /** Its worker has ended: another one tries, once. */
  #retry(index: number, settled: (index: number, outcome: Partial<Outcome>) => void): void {
    const tries = (this.#tries.get(index) ?? 0) + 1;
    this.#tries.set(index, tries);
    if (tries < 2) this.#due.push(index);
    else settled(index, NO_ANSWER[this.order.work]);
  }
}
