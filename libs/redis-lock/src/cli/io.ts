import type { Clock } from '../core/time/clock.js';

/** Exit codes: all is well, a check failed, the arguments are wrong, no server answers. */
export const EXIT = { fine: 0, broken: 1, usage: 2, unreachable: 69 } as const;

/** The time limit of a run, in every case. */
export const MOST_MS = 15_000;

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: () => string;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly clock?: Clock;
  /** Absent in a script, or behind a pipe. */
  readonly terminal?: Terminal | undefined;
}

/** The keyboard and the screen of a person. */
export interface Terminal {
  /** Resolves with the typed line; empty when the person ends the input. */
  ask(question: string): Promise<string>;
}

/** The surroundings of a command, beside its own arguments. */
export interface Run extends Omit<Surroundings, 'clock'> {
  /** Removes the passwords from a text of another library. */
  readonly hide: (text: string) => string;
  readonly clock: Clock;
  readonly keyPrefix: string;
  readonly isJson: boolean;
}

/** The command line is wrong; nothing was changed. */
export class UsageError extends Error {}
