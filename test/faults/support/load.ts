import type { LockErrorCode } from '../../../libs/redis-lock/src/core/errors.js';
import type { Take } from './primitives.js';

const WAIT_MS = 5_000;
/** Two in one section would meet in it. */
const CALLERS = 2;
/** What may happen to a call while a server is replaced, and once at most since it is how it ends. */
const PASSING: readonly LockErrorCode[] = ['LOCK_BACKEND', 'LOCK_TIMEOUT', 'LEASE_LOST'];

/** Callers that take each name again and again, and note how every call ends. */
export class Load {
  readonly failed: unknown[] = [];
  /** What no caller should ever see. */
  readonly unexpected: unknown[] = [];
  readonly overlaps: string[] = [];
  readonly #done = new Map<string, number>();
  readonly #inside = new Set<string>();
  readonly #callers: Promise<void>[];
  #isStopped = false;

  constructor(
    private readonly take: Take,
    names: readonly string[],
  ) {
    const callers = Array.from({ length: CALLERS }, () => names).flat();
    this.#callers = callers.map((name) => this.#call(name));
  }

  get done(): number {
    return this.doneOf(() => true);
  }

  doneOf(isMeant: (name: string) => boolean): number {
    return [...this.#done].reduce((sum, [name, done]) => sum + (isMeant(name) ? done : 0), 0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#callers);
  }

  async #call(name: string): Promise<void> {
    while (!this.#isStopped) {
      try {
        const held = await this.take(name, WAIT_MS);
        if (this.#inside.has(name)) this.overlaps.push(name);
        this.#inside.add(name);
        await new Promise(setImmediate);
        this.#inside.delete(name);
        await held.release();
        this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
      } catch (error) {
        const { code } = error as { code?: LockErrorCode };
        const isPassing = code !== undefined && PASSING.includes(code);
        (isPassing ? this.failed : this.unexpected).push(error);
      }
    }
  }
}
