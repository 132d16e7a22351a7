import type { PartName } from '../../options/names.mjs';

export { PART_NAMES } from '../../options/names.mjs';
export type { PartName } from '../../options/names.mjs';

/**
 * - `ok`: all buyers were served, and correctly.
 * - `overtakes`: a buyer bought before one that came earlier.
 * - `sells-early`: a process sold while another process was not ready.
 * - `overloads`: the payment gateway received more than it takes.
 * - `torn`: a reader got an old price with new stock.
 * - `deadlock`: carts waited for each other until one gave up.
 * - `partial`: only half of a cart was sold.
 * - `leaks`: a visitor got in more often than the limit allows.
 * - `repeats`: more than one process ran the job.
 * - `stale-write`: a late holder overwrote a newer price.
 * - `refused`: the late write was refused.
 * - `error`: the part could not be played to its end.
 */
export type PartOutcome =
  | 'ok'
  | 'overtakes'
  | 'sells-early'
  | 'overloads'
  | 'torn'
  | 'deadlock'
  | 'partial'
  | 'leaks'
  | 'repeats'
  | 'stale-write'
  | 'refused'
  | 'error';

type Played<Part extends PartName, Figures> = Readonly<Figures> & {
  readonly part: Part;
  /** Whether the part used its lock, or the way without it. */
  readonly withLock: boolean;
  readonly outcome: PartOutcome;
};

export type QueueResult = Played<'queue', { buyers: number; inversions: number }>;
export type OpeningResult = Played<'opening', { processes: number; early: number; sold: number }>;
/** `inside`: the highest number of payments that the gateway has accepted at once. */
export type PaymentResult = Played<'payment', { paid: number; refused: number; inside: number }>;
export type OfferResult = Played<'offer', { readers: number; together: number; torn: number }>;
export type CartResult = Played<'cart', { sold: number; soldOut: number; stuck: number }>;
export type TicketResult = Played<'ticket', { limit: number; letIn: number; sentAway: number }>;
export type ReportResult = Played<'report', { processes: number; runs: number }>;
/** `price`: the price at the end, in cents. */
export type FenceResult = Played<'fence', { price: number }>;
export type PartResult =
  | QueueResult
  | OpeningResult
  | PaymentResult
  | OfferResult
  | CartResult
  | TicketResult
  | ReportResult
  | FenceResult;
