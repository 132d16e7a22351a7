import type { Outcome } from '../../arena/cell.js';
import type { Step, Struck } from '../../arena/step.js';
import type { GatePoint } from '../../seckill/gate.js';
import type { NarrationWords } from '../words/narration-words.js';
import { beganAt, tracesOf } from '../timeline/trace.js';
import type { Trace } from '../timeline/trace.js';

/** An event of a cell, in one sentence. */
export interface Told {
  readonly at: number;
  readonly what: keyof Omit<NarrationWords, 'buyer' | 'process'>;
  readonly sentence: string;
}

/** A shorter wait is no event. */
const WAIT_MS = 50;

const STRUCK: Readonly<Partial<Record<Struck['what'], 'killed' | 'frozen' | 'thawed'>>> = {
  killed: 'killed',
  frozen: 'frozen',
  thawed: 'thawed',
};

/** The event at which the outcome is decided. */
const DECIDED_BY: Readonly<Partial<Record<Outcome, readonly Told['what'][]>>> = {
  stuck: ['killed'],
  'foreign-delete': ['foreignDelete'],
  refused: ['refused'],
  'stale-write': ['overwrites'],
};
const PRICED: Readonly<Partial<Record<GatePoint, 'acquires' | 'checks' | 'prices'>>> = {
  'lock-set': 'acquires',
  'before-write': 'checks',
  'after-write': 'prices',
};
const ENTERS: readonly Told['what'][] = ['acquires', 'reads'];

/** The sentences in order of time. `processes` are in the order of the lanes. */
export function narrationOf(
  steps: readonly Step[],
  processes: readonly number[],
  words: NarrationWords,
): Told[] {
  const ordered = [...steps].sort((a, b) => a.at - b.at);
  const traces = new Map(tracesOf(ordered).map((trace) => [trace.buyer, trace]));
  const number = (process = 0): number => processes.indexOf(process) + 1;
  return ordered.flatMap((step): Told | [] => {
    const { at } = step;
    if (step.kind === 'struck') return struck(step, number(step.process), at, words);
    if (step.kind === 'lock' && step.event === 'lost') {
      return { at, what: 'lost', sentence: words.lost(number(step.process)) };
    }
    if (step.kind !== 'passed' && step.kind !== 'answered') return [];
    const trace = traces.get(step.buyer);
    if (trace === undefined) return [];
    if (!trace.isOrder)
      return priced(step, [...traces.values()], words.process(number(step.process)), words);
    const told = step.kind === 'passed' ? passed(step.point, trace) : answered(step.answer);
    if (told === undefined) return [];
    return { at, what: told, sentence: words[told](words.buyer(step.buyer), trace.remaining) };
  });
}

/** The place of the event that decides the outcome; -1: no event does. */
export function decisiveEvent(told: readonly Told[], outcome: Outcome): number {
  const deciding = DECIDED_BY[outcome];
  if (deciding !== undefined) return told.findIndex(({ what }) => deciding.includes(what));
  const first = told.findIndex(({ what }) => ENTERS.includes(what));
  return told.findIndex(({ what }, place) => place > first && ENTERS.includes(what));
}

function struck(step: Struck, process: number, at: number, words: NarrationWords): Told | [] {
  if (step.what === 'lease-ended') return { at, what: 'leaseEnded', sentence: words.leaseEnded };
  if (step.what === 'foreign-delete') {
    return { at, what: 'foreignDelete', sentence: words.foreignDelete(process) };
  }
  const what = STRUCK[step.what];
  return what === undefined ? [] : { at, what, sentence: words[what](process) };
}

/** A change of the price is the work of its process, and has no buyer. */
function priced(
  step: Step,
  traces: readonly Trace[],
  process: string,
  words: NarrationWords,
): Told | [] {
  if (step.kind !== 'passed') return [];
  const { at, point } = step;
  const isLater = traces.some(({ points }) => (points.get('after-write') ?? at) < at);
  const what = point === 'after-write' && isLater ? 'overwrites' : PRICED[point];
  return what === undefined ? [] : { at, what, sentence: words[what](process) };
}

type OfBuyer =
  'waits' | 'acquires' | 'reads' | 'hasRead' | 'writes' | 'releases' | 'leaves' | 'refused';

function passed(point: string, trace: Trace): OfBuyer | undefined {
  const { points } = trace;
  switch (point) {
    case 'doors': {
      const waited = (beganAt(trace) ?? 0) - (points.get('doors') ?? 0);
      return waited > WAIT_MS ? 'waits' : undefined;
    }
    case 'lock-set':
      return 'acquires';
    case 'before-read':
      return points.has('lock-set') ? undefined : 'reads';
    case 'before-write':
      return 'hasRead';
    case 'after-write':
      return 'writes';
    case 'before-delete':
      return 'releases';
    default:
      return undefined;
  }
}

function answered(answer: string): OfBuyer | undefined {
  if (answer === 'busy') return 'leaves';
  return answer === 'refused' ? 'refused' : undefined;
}
