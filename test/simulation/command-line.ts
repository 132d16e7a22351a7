import { parseArgs } from 'node:util';
import { FAULT_NAMES, PRIMITIVES, SHARED, type FaultName, type Limits, type Plan } from './plan.js';

/** The wishes for a run of simulations. */
export interface Wishes {
  readonly primitives: readonly Plan['primitive'][];
  /** The seed of the first history. Each later one has the next. */
  readonly seed: number;
  /** Histories begin until there were so many. */
  readonly sections: number;
  /** Instead, histories begin for so many seconds of CPU. */
  readonly seconds: number | undefined;
  readonly limits: Limits;
  readonly trace: boolean;
  /** A file that gets each step as a line of JSON. */
  readonly history: string | undefined;
}

export const usage = `npm run simulate -- [options]
  --primitive P    one of ${PRIMITIVES.join(', ')}; all by default
  --seed S         of the first history; by default one that was never tried
  --sections N     in all, for each primitive; 10,000 by default
  --seconds T      of CPU in all, instead of a number of sections
  --level L        1: the library's port (default); 2: ioredis, too
  --faults F,F     these faults only, or "none": ${FAULT_NAMES.join(', ')}
  --length N       sections of each history
  --processes N, --callers N (of each process), --keys N
  --java           Java services beside them, of ${SHARED.join(', ')}
  --threads N      of Java services
  --trace          each step in words
  --history FILE   each step as a line of JSON
  --help           these words`;

const NUMBERS = [
  'seed',
  'sections',
  'seconds',
  'level',
  'length',
  'processes',
  'callers',
  'keys',
  'threads',
];

/** The wishes, or the problem with the words. */
export function commandLine(words: readonly string[]): Wishes | string {
  let values: Readonly<Record<string, string | boolean | undefined>>;
  try {
    ({ values } = parseArgs({
      args: [...words],
      options: {
        ...Object.fromEntries(NUMBERS.map((name) => [name, { type: 'string' as const }])),
        ...{ primitive: { type: 'string' }, faults: { type: 'string' } },
        ...{ history: { type: 'string' }, trace: { type: 'boolean' }, java: { type: 'boolean' } },
      },
    }));
  } catch (error) {
    return (error as Error).message;
  }
  const numberOf = (name: string) =>
    values[name] === undefined ? undefined : Number(values[name]);
  const wrong = NUMBERS.find((name) => !isCount(numberOf(name)));
  if (wrong !== undefined) return `--${wrong} takes a whole number from 1 on`;
  if ((numberOf('level') ?? 1) > 2) return 'There are the levels 1 and 2';
  const faults = faultsIn(values.faults);
  if (typeof faults === 'string') return `There is no fault ${faults}`;
  const { primitive } = values;
  const hasJava = values.java === true || values.threads !== undefined;
  const known = hasJava ? SHARED : PRIMITIVES;
  const primitives = known.filter((one) => primitive === undefined || one === primitive);
  if (primitives.length === 0)
    return `There is no primitive ${String(primitive)}${hasJava ? ' with Java' : ''}`;
  const asked = {
    ...{ level: numberOf('level'), sections: numberOf('length') },
    ...{ processes: numberOf('processes'), callers: numberOf('callers'), keys: numberOf('keys') },
    ...{ threads: numberOf('threads'), java: values.java === true || undefined },
    faults,
  };
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  return {
    primitives,
    seed: numberOf('seed') ?? Math.floor(Date.now() / 1_000),
    sections: numberOf('sections') ?? 10_000,
    seconds: numberOf('seconds'),
    limits: Object.fromEntries(given),
    trace: values.trace === true,
    history: values.history as string | undefined,
  };
}

/** The words that repeat one history. */
export function wordsOf({ primitive, seed, level, sections, faults, ...plan }: Plan): string {
  const { processes, callers, keys, threads } = plan;
  const java = threads > 0 ? { threads } : {};
  const size = { length: sections, processes, callers, keys, ...java };
  const numbers = Object.entries({ seed, sections: 1, level, ...size });
  const words = numbers.map(([name, value]) => `--${name} ${String(value)}`);
  return `--primitive ${primitive} ${words.join(' ')} --faults ${faults.join(',') || 'none'}`;
}

function isCount(value: number | undefined): boolean {
  return value === undefined || (Number.isSafeInteger(value) && value > 0);
}

/** The faults, or the first word that is none. */
function faultsIn(words: string | boolean | undefined): readonly FaultName[] | string | undefined {
  if (typeof words !== 'string') return undefined;
  const names = words === 'none' ? [] : words.split(',');
  const unknown = names.find((name) => !(FAULT_NAMES as readonly string[]).includes(name));
  return unknown ?? (names as FaultName[]);
}
