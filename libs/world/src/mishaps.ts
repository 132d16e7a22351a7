import type { World } from './world.js';

/**
 * Mishaps of one request or message:
 * - `unsent`: the connection breaks before Redis has read the request;
 * - `unanswered`: it breaks after Redis has executed it;
 * - `gives-up`: the client does not send again what a broken connection has not answered;
 * - `messages`: a message does not arrive, without a sign.
 */
export const MISHAPS = ['unsent', 'unanswered', 'gives-up', 'messages'] as const;
export type Mishap = (typeof MISHAPS)[number];

/** Chances of one process. */
export class Mishaps {
  readonly #chances = new Map<Mishap, number>();

  constructor(
    private readonly world: World,
    private readonly happened: (mishap: Mishap) => void,
  ) {}

  set(mishap: Mishap, chance: number): void {
    this.#chances.set(mishap, chance);
  }

  happens(mishap: Mishap): boolean {
    const chance = this.#chances.get(mishap) ?? 0;
    if (chance === 0 || !this.world.random.chance(chance)) return false;
    this.happened(mishap);
    return true;
  }
}
