import type { LockErrorCode } from '../../../libs/redis-lock/src/core/api/errors.js';
import type { Primitive, Take } from './primitives.js';

const WAIT_MS = 5_000;
/** A call may end with one of these errors while a server is replaced, and once at most. */
const PASSING: readonly LockErrorCode[] = ['LOCK_BACKEND', 'LOCK_TIMEOUT', 'LEASE_LOST'];

/**
 * Two callers of each name take it again and again, against each other, and note how every call ends.
 * Two in one section would meet in it.
 */
export class Load {
  readonly failed: unknown[] = [];
  /** No caller should ever see these errors. */
  readonly unexpected: unknown[] = [];
  readonly overlaps: string[] = [];
  readonly #done = new Map<string, number>();
  readonly #inside = new Set<string>();
  readonly #callers: Promise<void>[];
  #isStopped = false;

  constructor({ take, against }: Primitive, names: readonly string[]) {
    this.#callers = names.flatMap((name) => [this.#call(name, take), this.#call(name, against)]);
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

  async #call(name: string, take: Take): Promise<void> {
    while (!this.#isStopped) {
      try {
        const held = await take(name, WAIT_MS);
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
        // One is enough; and what is refused at once, as by a closed application, must not go round.
        if (!isPassing) return;
      }
    }
  }
}
