import type { Call } from './calls.js';
import { callOf, keptOf, outcomeOf, type KeptCall } from './kept.js';
import { luaByName, textOf, type Mutant, type Source } from './mutants.js';
import type { Recorded } from './recording.js';

/** A mutant, and the numbers of recorded calls that tell it from the script. */
export interface Told {
  readonly mutant: Mutant;
  readonly by: readonly number[];
}

/** A few calls that tell all these mutants from their scripts, each as small as it can be. */
export function tellingCalls(
  told: readonly Told[],
  recorded: readonly Recorded[],
  scripts: readonly Source[],
): KeptCall[] {
  const luaOf = luaByName(scripts);
  const kept: KeptCall[] = [];
  for (let left = told.filter(({ by }) => by.length > 0); left.length > 0;) {
    const best = mostFrequent(left.flatMap(({ by }) => by));
    const mutants = left.filter(({ by }) => by.includes(best)).map(({ mutant }) => mutant);
    left = left.filter(({ by }) => !by.includes(best));
    const call = recorded[best];
    const lua = luaOf.get(call?.script ?? '');
    if (call !== undefined && lua !== undefined) kept.push(smallest(call, lua, mutants));
  }
  return kept.sort((a, b) => (a.script < b.script ? -1 : Number(a.script > b.script)));
}

function mostFrequent(numbers: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const one of numbers) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

/** Without the keys and the listeners that the mutants do not need. */
function smallest(recorded: Recorded, lua: string, mutants: readonly Mutant[]): KeptCall {
  const texts = mutants
    .filter((mutant) => mutant.in.some(({ script }) => script.name === recorded.script))
    .map((mutant) => textOf(lua, mutant));
  const seen = (call: Call, text: string) => JSON.stringify(outcomeOf(call, text));
  const tells = (call: Call) => texts.every((text) => seen(call, text) !== seen(call, lua));
  const { script, keys, args, wall, isFull, denied } = recorded;
  let call: Call = { ...recorded, script, keys, args, wall, isFull, denied };
  const attempt = (smaller: Call) => {
    if (tells(smaller)) call = smaller;
  };
  attempt({ ...call, info: {} });
  attempt({ ...call, denied: [] });
  attempt({ ...call, isFull: false });
  for (const row of call.before)
    attempt({ ...call, before: call.before.filter((one) => one !== row) });
  for (const one of call.listeners)
    attempt({ ...call, listeners: call.listeners.filter((other) => other !== one) });
  return keptOf(callOf(keptOf(call, lua)), lua);
}
