import { casesOf, type Case } from './harness.js';
import type { Mutant, Source } from './mutants.js';
import { beginRounds, plant, watch } from './watch.js';

const { setTimeout, clearTimeout } = globalThis;
/** No case takes so long, even on a slow machine, unless it hangs. */
const LONGEST_MS = 10_000;
/** Slower ones are left out: many mutants run them. */
const SLOW_MS = 300;
/** A mutant that so many cases do not find is left to the next judge. */
const MOST_CASES = 250;

export interface SpecFile {
  readonly name: string;
  load(): Promise<unknown>;
}

interface KnownCase extends Case {
  readonly ms: number;
  /** How many mutants it has found. */
  finds: number;
}

/** The cases of the specs that run scripts, in this process. */
export class States {
  /** By script and statement. */
  readonly #reaching = new Map<string, KnownCase[]>();
  static async of(files: readonly SpecFile[], scripts: readonly Source[]): Promise<States> {
    const states = new States();
    let seen = new Set<string>();
    const undo = watch(scripts, (script, statement) => seen.add(placeOf(script, statement)));
    for (const { name, load } of files) {
      for (const one of await casesOf(name, load)) {
        seen = new Set();
        await states.#learn(one, seen);
      }
    }
    undo();
    return states;
  }

  async #learn(one: Case, seen: ReadonlySet<string>): Promise<void> {
    const before = process.cpuUsage();
    const failure = await failureOf(one);
    const { user, system } = process.cpuUsage(before);
    // A busy machine makes no case slow.
    const ms = (user + system) / 1_000;
    // Some need a real server.
    if (failure !== undefined || ms > SLOW_MS) return;
    const known: KnownCase = { ...one, ms, finds: 0 };
    for (const place of seen) {
      const all = this.#reaching.get(place);
      if (all === undefined) this.#reaching.set(place, [known]);
      else all.push(known);
    }
  }

  /** Those first that find the most in their time. */
  casesFor(mutant: Mutant): KnownCase[] {
    const all = mutant.in.flatMap(
      ({ script, statement }) => this.#reaching.get(placeOf(script.name, statement)) ?? [],
    );
    const worth = ({ finds, ms }: KnownCase) => (1 + finds) / ms;
    return [...new Set(all)].sort((a, b) => worth(b) - worth(a)).slice(0, MOST_CASES);
  }

  /** The name of a case that fails with the mutant, if there is one. */
  async find(mutant: Mutant): Promise<string | undefined> {
    const undo = plant(mutant);
    let failed: readonly [KnownCase, failure: string] | undefined;
    for (const one of this.casesFor(mutant)) {
      const failure = await failureOf(one);
      if (failure === undefined) continue;
      failed = [one, failure];
      break;
    }
    undo();
    if (failed === undefined) return undefined;
    const [one, failure] = failed;
    // A case that fails may leave something that makes the next one fail.
    const isClean = failure !== HANGS && (await failureOf(one)) === undefined;
    if (!isClean) throw new Spoilt(one.name, failure === HANGS);
    one.finds += 1;
    return one.name;
  }
}

/** From here on this process proves nothing any more. */
export class Spoilt extends Error {
  constructor(
    readonly by: string,
    readonly isFound: boolean,
  ) {
    super(`after ${by} nothing can be told`);
  }
}

const placeOf = (script: string, statement: number) => `${script}:${String(statement)}`;
const HANGS = 'it hangs';

async function failureOf(one: Case): Promise<string | undefined> {
  beginRounds();
  let timer: NodeJS.Timeout | undefined;
  const hanging = new Promise<string>((resolve) => {
    timer = setTimeout(() => {
      resolve(HANGS);
    }, LONGEST_MS);
  });
  const running = one.run().then(
    () => undefined,
    (error: unknown) => String(error).slice(0, 200) || 'an error',
  );
  const failure = await Promise.race([running, hanging]);
  clearTimeout(timer);
  return failure;
}
