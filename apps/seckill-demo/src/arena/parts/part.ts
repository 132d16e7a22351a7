import type { Redis } from 'ioredis';
import type { PartName } from '../../options/names.mjs';
import type { Reporter } from '../reporter.js';
import type { Fleet } from '../fleet.js';

export { PART_NAMES } from '../../options/names.mjs';
export type { PartName } from '../../options/names.mjs';

/**
 * - `ok`: all buyers were served, and rightly.
 * - `overtakes`: a buyer bought before one that had come earlier.
 * - `sells-early`: a process sold while another one was not ready.
 * - `overloads`: the payment gateway was given more than it takes.
 * - `torn`: a reader got an old price with new stock.
 * - `deadlock`: carts waited for each other until one gave up.
 * - `partial`: a cart was sold by halves.
 * - `leaks`: a visitor got in more often than the limit says.
 * - `repeats`: more than one process ran the job.
 * - `stale-write`: a late holder wrote over a newer price.
 * - `refused`: the late holder was kept from writing.
 * - `error`: the part could not be played through.
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
  /** Whether the part's lock was used, or the way that does without it. */
  readonly withLock: boolean;
  readonly outcome: PartOutcome;
};

export type QueueResult = Played<'queue', { buyers: number; inversions: number }>;
export type OpeningResult = Played<'opening', { processes: number; early: number; sold: number }>;
/** `inside` is the most that the gateway has seen at once and taken. */
export type PaymentResult = Played<'payment', { paid: number; refused: number; inside: number }>;
export type OfferResult = Played<'offer', { readers: number; together: number; torn: number }>;
export type CartResult = Played<'cart', { sold: number; soldOut: number; stuck: number }>;
export type TicketResult = Played<'ticket', { limit: number; letIn: number; sentAway: number }>;
export type ReportResult = Played<'report', { processes: number; runs: number }>;
/** `price`: what stands in the end, in cents. */
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

/** Where a part is played. */
export interface PartPlan extends ReturnType<Reporter['of']> {
  readonly fleet: Fleet;
  /** The arena's own connection, to see who waits where. */
  readonly redis: Redis;
  readonly keyPrefix: string;
  readonly newProduct: () => string;
}
