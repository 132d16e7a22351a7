import { effectsOf, type Call, type Effects, type Row } from './calls.js';
import { luaByName, type Mutant, type Source } from './mutants.js';
import { plant } from './watch.js';

/** A call that tells a mutant from the script, and its effects. Times are those from the call on. */
export interface KeptCall
  extends
    Pick<Call, 'script' | 'keys' | 'args' | 'wall' | 'before'>,
    Partial<Pick<Call, 'listeners' | 'info' | 'isFull' | 'denied'>>,
    Pick<Effects, 'answer' | 'messages'> {
  /** The keys that it changes, and those that it removes. */
  readonly changed: readonly Row[];
  readonly removed: readonly string[];
}

/** The calls of a file, one a line. */
export function keptIn(text: string): KeptCall[] {
  const lines = text.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as KeptCall);
}

/** JSON knows no infinity: a key without an end has this one. */
const NEVER = -1;

function shifted([key, type, endsAt, value]: Row, by: number): Row {
  const isEndless = endsAt === NEVER || endsAt === Infinity;
  return [key, type, isEndless ? NEVER : endsAt + by, value];
}

function fromNowOn(rows: readonly Row[], wall: number): Row[] {
  return rows.map((row) => shifted(row, -Math.floor(wall)));
}

export function callOf({ before, wall, ...kept }: KeptCall): Call {
  const rows = before.map((row): Row => {
    const [key, type, endsAt, value] = shifted(row, Math.floor(wall));
    return [key, type, endsAt === NEVER ? Infinity : endsAt, value];
  });
  return { listeners: [], info: {}, isFull: false, denied: [], ...kept, wall, before: rows };
}

/** The effects, as they are kept. */
export function outcomeOf(call: Call, lua: string) {
  const { answer, after, messages } = effectsOf(call, lua);
  const was = new Map(call.before.map((row) => [row[0], JSON.stringify(row)]));
  const changed = after.filter((row) => was.get(row[0]) !== JSON.stringify(row));
  const there = new Set(after.map(([key]) => key));
  return {
    ...{ answer, messages, changed: fromNowOn(changed, call.wall) },
    removed: [...was.keys()].filter((key) => !there.has(key)),
  };
}

export function keptOf(call: Call, lua: string): KeptCall {
  const { script, keys, args, wall, before, listeners, info, isFull, denied } = call;
  return {
    ...{ script, keys, args, wall, before: fromNowOn(before, wall) },
    ...(listeners.length > 0 && { listeners }),
    ...(Object.keys(info).length > 0 && { info }),
    ...(isFull && { isFull }),
    ...(denied.length > 0 && { denied }),
    ...outcomeOf(call, lua),
  };
}

/** Kept calls, as a judge. */
export class Kept {
  readonly #calls = new Map<string, { call: Call; expected: string; number: number }[]>();

  constructor(kept: readonly KeptCall[], scripts: readonly Source[]) {
    const luaOf = luaByName(scripts);
    for (const { name } of scripts) this.#calls.set(name, []);
    for (const [number, one] of kept.entries()) {
      const call = callOf(one);
      const expected = JSON.stringify(outcomeOf(call, luaOf.get(one.script) ?? ''));
      this.#calls.get(one.script)?.push({ call, expected, number });
    }
  }

  /** A call that has other effects with the mutant. */
  find(mutant: Mutant): string | undefined {
    const undo = plant(mutant);
    try {
      for (const { script } of mutant.in) {
        for (const { call, expected, number } of this.#calls.get(script.name) ?? []) {
          const isSame = JSON.stringify(outcomeOf(call, script.lua)) === expected;
          if (!isSame) return `${script.name}, line ${String(number + 1)}`;
        }
      }
      return undefined;
    } finally {
      undo();
    }
  }
}
