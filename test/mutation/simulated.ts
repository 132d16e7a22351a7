import { simulate } from '../simulation/simulation.js';
import { effectsOf } from './calls.js';
import { luaByName, type Mutant, type Source } from './mutants.js';
import { planFor, type Short } from '../simulation/planted/planted.js';
import type { Recorded } from './recording.js';
import { beginRounds, plant } from './watch.js';

/** Once a mutant is known to differ, more of its calls are only counted. */
const MOST_DIFFERING = 12;

interface Known extends Recorded {
  readonly effects: string;
  readonly number: number;
}

/** The recorded calls, and the histories from which they are. */
export class Simulated {
  readonly #calls = new Map<string, Known[]>();

  constructor(recorded: readonly Recorded[], scripts: readonly Source[]) {
    const luaOf = luaByName(scripts);
    for (const [number, call] of recorded.entries()) {
      const lua = luaOf.get(call.script);
      if (lua === undefined) continue;
      const known = { ...call, number, effects: JSON.stringify(effectsOf(call, lua)) };
      const all = this.#calls.get(call.script);
      if (all === undefined) this.#calls.set(call.script, [known]);
      else all.push(known);
    }
  }

  /** The recorded calls that reach a mutant, and those that then have other effects. */
  differences(mutant: Mutant): { calls: number; differing: Known[] } {
    const undo = plant(mutant);
    const reaching = mutant.in.flatMap(({ script: { name, lua }, statement }) =>
      (this.#calls.get(name) ?? [])
        .filter(({ path }) => path.includes(statement))
        .map((call) => ({ call, lua })),
    );
    const differing: Known[] = [];
    for (const { call, lua } of reaching) {
      if (differing.length >= MOST_DIFFERING) break;
      if (JSON.stringify(effectsOf(call, lua)) !== call.effects) differing.push(call);
    }
    undo();
    return { calls: reaching.length, differing };
  }

  /** The promise that the mutant breaks in the history of the first of these calls, if it breaks one. */
  async find(mutant: Mutant, differing: readonly Recorded[]): Promise<string | undefined> {
    const history = differing.find((call) => call.history !== undefined)?.history;
    if (history === undefined) return undefined;
    const undo = plant(mutant);
    beginRounds();
    const { violation } = await simulate(planFor(history));
    undo();
    return violation && `${nameOf(history)} breaks "${violation.promise}"`;
  }
}

const nameOf = ({ primitive, seed, java }: Short) =>
  `${primitive}${java === true ? ' beside Java' : ''}, seed ${String(seed)},`;
