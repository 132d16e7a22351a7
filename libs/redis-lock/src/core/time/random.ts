import { randomFillSync, randomUUID } from 'node:crypto';

/** The source of all that is random in a session. */
export interface Random {
  /** From 0 to below 1. */
  number(): number;
  uuid(): string;
  /** Fills the bytes with what no other client can guess. */
  fill(bytes: Buffer): void;
}

export const systemRandom: Random = {
  number: () => Math.random(),
  uuid: () => randomUUID(),
  fill(bytes) {
    randomFillSync(bytes);
  },
};
