/** The answers of the judges about a mutant. */
export interface Outcome {
  readonly key: string;
  readonly name: string;
  /** The case of a spec that fails with it, or null. */
  readonly state?: string | null;
  /** A kept call that then has other effects, or null. */
  readonly call?: string | null;
  /** How many recorded calls reach it, and the numbers of some that then have other effects. */
  readonly calls?: number;
  readonly differing?: readonly number[];
  /** The history in which the referee sees it, and the promise that it breaks, or null. */
  readonly history?: string | null;
  /** It ends the process of the simulation, or keeps it busy for minutes. */
  readonly isSilent?: boolean;
}

export const CLASSES = [
  ...(['states', 'calls', 'simulation', 'differs', 'same', 'unreached', 'silent'] as const),
] as const;
export type Class = (typeof CLASSES)[number];

export function classOf(outcome: Outcome): Class {
  const { state, call, history, calls = 0, differing = [], isSilent = false } = outcome;
  if (typeof state === 'string') return 'states';
  if (typeof call === 'string') return 'calls';
  if (typeof history === 'string') return 'simulation';
  if (isSilent) return 'silent';
  if (differing.length > 0) return 'differs';
  return calls > 0 ? 'same' : 'unreached';
}

export const isFound = (outcome: Outcome) =>
  ['states', 'calls', 'simulation'].includes(classOf(outcome));

/** The reason why such a change usually changes nothing. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/redis\.pcall → /, 'Redis refuses no command there'],
  [/: 15 → 1[46]/, 'no number has so many digits'],
  [/: ([<>]=? → [<>]=?|\S+ → \(?-?\d+\)?)( |$)/, 'it differs at one value'],
  [/: '\S+' → '[a-z]+'/, 'both commands answer alike'],
  [/ → '\??'/, 'no code reads the text'],
  [/ → (true|false|and|or|not not|[~=]=|[<>]=?)( |$)/, 'another condition decides'],
];

function kindOf(name: string): string {
  return (
    KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'the rest of the script does the same'
  );
}

export const REASONS: Readonly<Record<Class, (outcome: Outcome) => string>> = {
  states: ({ state }) => `found by a state: ${String(state)}`,
  calls: ({ call }) => `found by a kept call: ${String(call)}`,
  simulation: ({ history }) => `found by the simulation: ${String(history)}`,
  differs: ({ calls, differing = [] }) =>
    `${String(differing.length)} of ${String(calls)} recorded calls differ, and no promise is broken`,
  same: ({ name, calls }) =>
    `${kindOf(name)}; ${String(calls)} recorded calls have the same effects`,
  unreached: () => 'no recorded call reaches it',
  silent: () => 'its process gives no answer',
};
