/** The strategies of the playground: the tutorial's, and this library's. */
export const STRATEGY_NAMES = [
  ...['naive', 'in-process', 'setnx', 'setnx-expire', 'set-nx-px', 'owner-check', 'lua-release'],
  ...['lock-unchecked', 'lock', 'fair', 'write-lock', 'fenced-late', 'fenced'],
] as const;
export type PlaygroundStrategy = (typeof STRATEGY_NAMES)[number];

/** A process is killed, or its event loop stands still for a while. */
export interface Fault {
  readonly kind: 'kill' | 'freeze';
  /** The first one is 1. */
  readonly process: number;
  /** In ms of virtual time. */
  readonly at: number;
  readonly ms: number;
}

/** Everything that a run follows from. */
export interface Experiment {
  readonly strategy: PlaygroundStrategy;
  readonly seed: number;
  readonly processes: number;
  /** In each process. */
  readonly callers: number;
  readonly leaseMs: number;
  /** The time between the read and the write is at most half as long again, or half as short. */
  readonly workMs: number;
  /** The longest delay of a request, and of its answer, beyond half a millisecond. */
  readonly latencyMs: number;
  readonly faults: readonly Fault[];
}

export type NumberName = Exclude<keyof Experiment, 'strategy' | 'faults'>;

interface Range {
  readonly least: number;
  readonly most: number;
  readonly usual: number;
}

/** A name of each in an address. */
export const NUMBERS: Readonly<Record<NumberName, Range>> = {
  seed: { least: 1, most: 999_999, usual: 1 },
  processes: { least: 1, most: 4, usual: 2 },
  callers: { least: 1, most: 4, usual: 3 },
  leaseMs: { least: 100, most: 5_000, usual: 300 },
  workMs: { least: 1, most: 2_000, usual: 60 },
  latencyMs: { least: 0, most: 100, usual: 2 },
};
const NUMBER_NAMES = Object.keys(NUMBERS) as NumberName[];
/** No freeze is longer. */
export const LONGEST_MS = 60_000;
export const MOST_FAULTS = 20;
/** 0.29 * 100 is less than 29. */
const ROUNDING = 1e-6;
/** As in `kill-1-37.5` and `freeze-2-80-400`. */
const FAULT = /^(kill|freeze)-(\d)-(\d{1,6}(?:\.\d{1,2})?)(?:-(\d{1,6}))?$/;

export const FIRST: Experiment = fromQuery('');

/** The experiment of an address. A missing or wrong part is as usual. */
export function fromQuery(query: string): Experiment {
  const given = new URLSearchParams(query);
  const numbers = Object.fromEntries(
    NUMBER_NAMES.map((name) => [name, within(NUMBERS[name], given.get(name))]),
  ) as Record<NumberName, number>;
  const strategy = STRATEGY_NAMES.find((name) => name === given.get('strategy')) ?? 'lua-release';
  const faults = (given.get('faults') ?? '').split(',').slice(0, MOST_FAULTS).flatMap(faultOf);
  return { strategy, ...numbers, faults: inOrder(faults) };
}

/** The address of an experiment. The same address shows the same run. */
export function toQuery(experiment: Experiment): string {
  const query = new URLSearchParams({ strategy: experiment.strategy });
  for (const name of NUMBER_NAMES) query.set(name, String(experiment[name]));
  const faults = experiment.faults.map(
    ({ kind, process, at, ms }) => `${kind}-${process}-${at}${kind === 'freeze' ? `-${ms}` : ''}`,
  );
  if (faults.length > 0) query.set('faults', faults.join(','));
  return query.toString().replaceAll('%2C', ',');
}

/** The same experiment with a seed that comes so much later. The first one follows the last one. */
export function seedsLater(experiment: Experiment, count: number): Experiment {
  return { ...experiment, seed: ((experiment.seed - 1 + count) % NUMBERS.seed.most) + 1 };
}

/** A freeze that outlasts the lease. */
export function freezeMs({ leaseMs }: Experiment): number {
  return Math.round(leaseMs * 1.5);
}

/** The same experiment with one more fault, right after all that happens until now. */
export function struckAfter(
  experiment: Experiment,
  now: number,
  { kind, process, ms = freezeMs(experiment) }: Pick<Fault, 'kind' | 'process'> & { ms?: number },
): Experiment {
  // A fault comes before all else of its moment. An address has hundredths of a millisecond.
  const at = (Math.floor(Math.max(0, now) * 100 + ROUNDING) + 1) / 100;
  return withFault(experiment, { kind, process, at, ms: kind === 'kill' ? 0 : ms });
}

/** The same experiment with one more fault. */
export function withFault(experiment: Experiment, fault: Fault): Experiment {
  const at = Math.round(fault.at * 100) / 100;
  return { ...experiment, faults: inOrder([...experiment.faults, { ...fault, at }]) };
}

function inOrder(faults: readonly Fault[]): Fault[] {
  return [...faults].sort((a, b) => a.at - b.at);
}

function within({ least, most, usual }: Range, text: string | null): number {
  const number = Math.round(Number(text ?? NaN));
  return Number.isNaN(number) ? usual : Math.min(most, Math.max(least, number));
}

function faultOf(text: string): Fault | [] {
  const [, kind, process, at, ms] = FAULT.exec(text) ?? [];
  if (kind !== 'kill' && kind !== 'freeze') return [];
  const fault = { kind, process: Number(process), at: Number(at), ms: Number(ms ?? 0) } as const;
  const isMeant = fault.process >= 1 && fault.process <= NUMBERS.processes.most;
  return isMeant ? { ...fault, ms: Math.min(fault.ms, LONGEST_MS) } : [];
}
