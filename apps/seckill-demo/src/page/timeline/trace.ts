import { partCell } from '../../arena/cell.js';
import type { GatePoint } from '../../seckill/gate.js';
import type { OrderAnswered, Step } from '../../arena/step.js';

/** The course of one order through its cell, by the times of its steps. */
export interface Trace {
  readonly buyer: string;
  /** The process where it began; another process may take its payment. 0 until a process reports it. */
  readonly process: number;
  readonly points: ReadonlyMap<GatePoint, number>;
  readonly releasedAt: number | undefined;
  readonly answeredAt: number | undefined;
  readonly answer: OrderAnswered['answer'] | 'lost' | 'priced' | undefined;
  readonly remaining: number | undefined;
  readonly reason: string | undefined;
  /** A change of the price has no buyer. */
  readonly isOrder: boolean;
}

interface Draft {
  buyer: string;
  isOrder: boolean;
  process: number;
  points: Map<GatePoint, number>;
  releasedAt: number | undefined;
  answeredAt: number | undefined;
  answer: Trace['answer'];
  remaining: number | undefined;
  reason: string | undefined;
}

/** The cells of the part that changes a price. */
const PRICED: readonly unknown[] = [partCell('fence', true).id, partCell('fence', false).id];

/** The orders of a cell; `steps` are in order of time. */
export function tracesOf(steps: readonly Step[]): Trace[] {
  const drafts = new Map<string, Draft>();
  for (const step of steps) {
    if (step.kind !== 'passed' && step.kind !== 'answered' && step.kind !== 'lock') continue;
    if (step.buyer === undefined) continue;
    const draft = drafts.get(step.buyer) ?? newDraft(step.buyer, step.cell);
    drafts.set(step.buyer, draft);
    note(draft, step);
  }
  return [...drafts.values()];
}

function note(draft: Draft, step: Step): void {
  switch (step.kind) {
    case 'passed':
      draft.process ||= step.process;
      // A cart passes the same point for each of its products; its section is the whole of them.
      if (!draft.points.has(step.point)) draft.points.set(step.point, step.at);
      break;
    case 'lock':
      if (step.event === 'released') draft.releasedAt = step.at;
      draft.process ||= step.process;
      break;
    case 'answered':
      draft.answeredAt = step.at;
      draft.answer = answerTo(draft, step.answer);
      draft.remaining = step.remaining;
      draft.reason = step.reason;
      draft.process ||= step.process;
      break;
    default:
      break;
  }
}

/** The shop refuses after a write, too, if the lock is lost by then. */
function answerTo({ points, isOrder }: Draft, answer: OrderAnswered['answer']): Trace['answer'] {
  if (answer === 'refused' && points.has('after-write')) return 'lost';
  return answer === 'sold' && !isOrder ? 'priced' : answer;
}

function newDraft(buyer: string, cell: string | undefined): Draft {
  return {
    buyer,
    isOrder: !PRICED.includes(cell),
    process: 0,
    points: new Map(),
    releasedAt: undefined,
    answeredAt: undefined,
    answer: undefined,
    remaining: undefined,
    reason: undefined,
  };
}

/** The start of its time inside: its lock, or its read without a lock in Redis. */
export function beganAt({ points }: Trace): number | undefined {
  return points.get('lock-set') ?? points.get('before-read');
}

/** The earliest of several times. */
export function earliest(...times: ReadonlyArray<number | undefined>): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * The time after which it could do no more harm: its write, or its answer. An order that commits
 * after the release may do harm until its answer.
 */
export function harmlessAt(trace: Trace): number | undefined {
  const { points, releasedAt, answeredAt } = trace;
  if (points.has('before-commit')) return answeredAt;
  return earliest(points.get('after-write'), points.get('before-delete'), releasedAt, answeredAt);
}

/** Whether it wrote, or was about to write without an obstacle. */
export function mayWrite({ points, answer }: Trace): boolean {
  // A lock may be missed after the write, and the order be refused all the same.
  if (points.has('after-write')) return true;
  return points.has('before-write') && answer !== 'refused' && answer !== 'sold-out';
}
