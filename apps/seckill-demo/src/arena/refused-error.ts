import type { CommandRefusal } from './step.js';

/** A command that cannot be carried out. The page has its own words for the reason. */
export class RefusedError extends Error {
  constructor(
    readonly reason: CommandRefusal,
    message: string,
  ) {
    super(message);
  }
}
