import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { deserialize } from 'node:v8';
import { Random } from '../support/random.js';
import type { NamedScript } from '../testing/script-calls.js';
import { Cache } from './cache.js';
import { callOf, keptIn, keptOf, type KeptCall } from './kept.js';
import { luaByName, mutantsOf, type Mutant } from './mutants.js';
import { REASONS, classOf, isFound, type Outcome } from './outcome.js';
import { Pool } from './pool.js';
import type { Recorded } from './recording.js';
import { tableOf } from './report.js';
import { tellingCalls, type Told } from './telling.js';
import type { Order } from './worker.js';

const usage = `npm run mutate -- [options]
  --script NAME     the mutants of scripts whose names begin so
  --sample N        only so many mutants, drawn by --seed S
  --judge J         states, calls or simulation alone; by default one after the other
  --again           judges again those that were not found before
  --keep            judges nothing anew, and keeps recorded calls that tell survivors from
                    their scripts; kept calls get the effects of the present scripts
  --survivors FILE  each mutant that is not found, with the reason
  --workers N       processes; 2 by default`;

const KEPT = 'test/mutation/calls.jsonl';
const FIELDS = { states: 'state', calls: 'call', simulation: 'history' } as const;
type Field = (typeof FIELDS)[keyof typeof FIELDS];

const text = { type: 'string' } as const;
const OPTIONS = {
  ...{ script: { ...text, default: '' }, sample: text, seed: { ...text, default: '1' } },
  ...{ judge: text, again: { type: 'boolean' as const, default: false }, survivors: text },
  ...{ keep: { type: 'boolean' as const, default: false }, workers: { ...text, default: '2' } },
} as const;

/** `npm run mutate`, from the words of its command line to its exit code. */
export async function main(
  words: readonly string[],
  scripts: readonly NamedScript[],
  folder: string,
): Promise<number> {
  const values = wishesOf(words);
  if (values === undefined) {
    console.log(usage);
    return 2;
  }
  mkdirSync(folder, { recursive: true });
  const all = mutantsOf(scripts);
  const meant = drawn(
    all.filter(({ name }) => name.startsWith(values.script)),
    Number(values.sample ?? Infinity),
    values.seed,
  );
  const cache = new Cache(`${folder}/outcomes.jsonl`);
  const file = `${folder}/calls-${digestOf(scripts.map(({ lua }) => lua).join()).slice(0, 12)}`;
  const order = { scripts: scripts.map(plainScript), specs: specs(), file };
  const judge = async (work: Order['work'], due: readonly Mutant[]) => {
    const pool = new Pool({ ...order, kept: readKept(), work }, Number(values.workers));
    await pool.judge(due, all, (mutant, outcome) => {
      cache.add({ key: keyOf(mutant), name: mutant.name, ...outcome });
    });
  };
  const isDue = (of: Field) => (mutant: Mutant) => {
    const known = cache.get(keyOf(mutant));
    if (known !== undefined && isFound(known) && values.judge === undefined) return false;
    return known?.[of] === undefined || (values.again && known[of] === null);
  };
  for (const work of WORKS) {
    const due = meant.filter(isDue(FIELDS[work]));
    if ((values.judge ?? work) !== work || due.length === 0 || values.keep) continue;
    if (work === 'simulation' && !existsSync(file)) {
      await new Pool({ ...order, kept: [], work: 'record' }, 1).run();
    }
    console.log(`${String(due.length)} mutants meet ${work}`);
    await judge(work, due);
  }
  if (values.keep) {
    const told = meant.flatMap((mutant) => toldBy(mutant, cache.get(keyOf(mutant))));
    const recorded = told.length === 0 ? [] : (deserialize(readFileSync(file)) as Recorded[]);
    keep(tellingCalls(told, recorded, scripts), scripts);
    const mutants = told.map(({ mutant }) => mutant);
    await judge('calls', mutants);
  }
  report(meant, (mutant) => cache.get(keyOf(mutant)), values.survivors);
  return 0;
}

const WORKS = ['states', 'calls', 'simulation'] as const;

/** Undefined if the words are not understood. */
function wishesOf(words: readonly string[]) {
  try {
    const { values } = parseArgs({ args: [...words], options: OPTIONS });
    const numbers = [values.sample ?? '1', values.workers].map(Number);
    const isKnown = values.judge === undefined || WORKS.some((one) => one === values.judge);
    return isKnown && numbers.every((one) => one > 0) ? values : undefined;
  } catch {
    return undefined;
  }
}

/** A mutant that only recorded calls show. */
function toldBy(mutant: Mutant, outcome: Outcome | undefined): Told[] {
  const isLeft = outcome !== undefined && classOf(outcome) === 'differs';
  return isLeft ? [{ mutant, by: outcome.differing ?? [] }] : [];
}

function keep(calls: readonly KeptCall[], scripts: readonly NamedScript[]): void {
  const luaOf = luaByName(scripts);
  const known = readKept().flatMap((one) => {
    const lua = luaOf.get(one.script);
    return lua === undefined ? [] : [keptOf(callOf(one), lua)];
  });
  const all = [...known, ...calls];
  writeFileSync(KEPT, all.map((call) => `${JSON.stringify(call)}\n`).join(''));
}

function report(
  mutants: readonly Mutant[],
  outcomeOf: (mutant: Mutant) => Outcome | undefined,
  survivors: string | undefined,
): void {
  const outcomes = mutants.map(outcomeOf).filter((one) => one !== undefined);
  console.log(tableOf(outcomes));
  if (survivors === undefined) return;
  const lines = outcomes.flatMap((outcome) => {
    const reason = REASONS[classOf(outcome)](outcome);
    return isFound(outcome) ? [] : [`${outcome.name}: ${reason}\n`];
  });
  writeFileSync(survivors, lines.join(''));
}

function drawn(mutants: readonly Mutant[], most: number, seed: string): readonly Mutant[] {
  return mutants.length <= most ? mutants : new Random(seed).shuffle(mutants).slice(0, most);
}

const digestOf = (words: string) => createHash('sha1').update(words).digest('hex');

/** The same change of the same texts. */
function keyOf(mutant: Mutant): string {
  const places = mutant.in.map(({ script, edit: { start, end, text: by } }) =>
    [digestOf(script.lua), start, end, by].join(),
  );
  return digestOf(places.join());
}

function plainScript({ name, lua, sha1, keys, args }: NamedScript): NamedScript {
  return { name, lua, sha1, keys: [...keys], args: [...args] };
}

function readKept(): KeptCall[] {
  return existsSync(KEPT) ? keptIn(readFileSync(KEPT, 'utf8')) : [];
}

/** The specs that run scripts in this process on given states, as they are compiled. */
function specs(): string[] {
  const root = new URL('../../', import.meta.url);
  const folder = new URL('libs/redis-lock/src/primitives/', root);
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /scripts.*\.spec\.js$|hash-lock\.spec\.js$/.test(name))
    .map((name) => new URL(name, folder).href)
    .sort();
  return [...found, ...OTHERS.map((name) => new URL(`test/${name}.spec.js`, root).href)];
}

const OTHERS = [
  ...['core/queue-scripts', 'faults/lock-scripts', 'faults/write-lock-scripts', 'core/inspect'],
  ...['lock/min-hold', 'lock/fencing', 'fencing-guard/redis'],
];
