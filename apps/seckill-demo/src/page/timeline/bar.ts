import type { Trace } from './trace.js';

/** A critical section. */
export interface Bar {
  readonly process: number;
  readonly buyer: string;
  readonly isOrder: boolean;
  readonly from: number;
  readonly to: number;
  /** From then on, the process wrongly assumes that it holds the lock. */
  readonly leaseOverAt: number | undefined;
  readonly answer: Trace['answer'];
  readonly reason: Trace['reason'];
  /** From here on it could do no more harm. */
  readonly harmlessAt: number;
  readonly mayWrite: boolean;
  readonly row: number;
}

/** An order that waits for its lock, or for its answer. */
export interface Wait {
  readonly process: number;
  readonly from: number;
  readonly to: number;
  readonly row: number;
}
