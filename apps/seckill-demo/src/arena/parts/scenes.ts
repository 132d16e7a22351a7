import { cart, cartOneByOne } from './cart.js';
import { fence } from './fence.js';
import { offer } from './offer.js';
import { opening } from './opening.js';
import type { PartName, PartResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { payment } from './payment.js';
import { queue } from './queue.js';
import { report } from './report.js';
import { ticket } from './ticket.js';

/** One part, with its lock or without. */
export interface PartScene {
  readonly part: PartName;
  readonly withLock: boolean;
  readonly play: (plan: PartPlan) => Promise<PartResult>;
}

/** For a fleet that starts cold and gives up waiting soon: this scene needs to see refusals. */
export const HASTY_SCENES: readonly PartScene[] = [
  { part: 'opening', withLock: true, play: opening },
  { part: 'offer', withLock: false, play: (plan) => offer(plan, 'naive') },
  { part: 'offer', withLock: true, play: (plan) => offer(plan, 'read-write-lock') },
  { part: 'cart', withLock: false, play: cartOneByOne },
];

/** For a fleet that refuses no buyer for lack of time. */
export const PATIENT_SCENES: readonly PartScene[] = [
  { part: 'queue', withLock: false, play: (plan) => queue(plan, 'redis-lock') },
  { part: 'queue', withLock: true, play: (plan) => queue(plan, 'fair') },
  { part: 'payment', withLock: false, play: (plan) => payment(plan, 'naive') },
  { part: 'payment', withLock: true, play: (plan) => payment(plan, 'semaphore') },
  { part: 'cart', withLock: true, play: cart },
  { part: 'ticket', withLock: false, play: (plan) => ticket(plan, 'per-process') },
  { part: 'ticket', withLock: true, play: (plan) => ticket(plan, 'shared') },
  { part: 'report', withLock: false, play: (plan) => report(plan, 'everywhere') },
  { part: 'report', withLock: true, play: (plan) => report(plan, 'cron-lock') },
  { part: 'fence', withLock: false, play: (plan) => fence(plan, 'unfenced') },
  { part: 'fence', withLock: true, play: (plan) => fence(plan, 'fenced') },
];
