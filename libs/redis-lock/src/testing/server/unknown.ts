/** Redis may know it, but the server in process does not. No script can catch this. */
export class UnknownError extends Error {}

export function unknown(what: string): never {
  throw new UnknownError(`The server in process knows no ${what}`);
}
