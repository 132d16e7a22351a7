import { changesOf } from './changes.js';
import {
  blockOf,
  edited,
  roundsIn,
  statementsIn,
  treeOf,
  type Edit,
  type Node,
} from './lua-text.js';

export interface Source {
  readonly name: string;
  readonly lua: string;
}

export function luaByName(scripts: readonly Source[]): ReadonlyMap<string, string> {
  return new Map(scripts.map(({ name, lua }) => [name, lua]));
}

/** A script of the library with one change. */
export interface Mutated {
  readonly script: Source;
  readonly edit: Edit;
  /** The number of the innermost statement around it. */
  readonly statement: number;
}

/**
 * One change of the Lua. The scripts of a family share fragments and are assembled from them, so that
 * the change is in each script that has the same statement.
 */
export interface Mutant {
  /** Such as `lock.release 12: == → ~=`. */
  readonly name: string;
  readonly in: readonly Mutated[];
}

const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^(read|write)-/, 'read-write'],
  [/^(lock|hash-lock|fencing-token)\./, 'lock'],
];

export function familyOf(script: string): string {
  const [, family] = FAMILIES.find(([pattern]) => pattern.test(script)) ?? [];
  return family ?? script.replace(/\..*/, '');
}

/** All mutants of these scripts, in their order. */
export function mutantsOf(scripts: readonly Source[]): Mutant[] {
  const groups = new Map<string, Mutated[]>();
  for (const script of scripts) {
    const tree = treeOf(script.lua);
    const statements = statementsIn(tree);
    for (const top of blockOf(tree)) {
      const [start, end] = top.range;
      const text = script.lua.slice(start, end);
      for (const edit of changesOf(top, script.lua)) {
        const place = [edit.start - start, edit.end - start, edit.text].join();
        const key = [familyOf(script.name), text, place].join('\n');
        const statement = innermost(statements, edit);
        const mutated = { script, edit, statement };
        const group = groups.get(key);
        if (group === undefined) groups.set(key, [mutated]);
        else group.push(mutated);
      }
    }
  }
  return named([...groups.values()]);
}

function innermost(statements: readonly Node[], { start, end }: Edit): number {
  return statements.findLastIndex(({ range }) => range[0] <= start && end <= range[1]);
}

function named(groups: readonly (readonly Mutated[])[]): Mutant[] {
  const counts = new Map<string, number>();
  return groups.map((all) => {
    const [{ script, edit }] = all as [Mutated];
    const line = script.lua.slice(0, edit.start).split('\n').length;
    const words = `${script.name} ${String(line)}: ${wordsOf(script.lua, edit)}`;
    const count = (counts.get(words) ?? 0) + 1;
    counts.set(words, count);
    return { name: count === 1 ? words : `${words} (${String(count)})`, in: all };
  });
}

function wordsOf(lua: string, { start, end, text }: Edit): string {
  const before = lua.slice(start, end).replace(/\s+/g, ' ').trim();
  const short = before.length > 60 ? `${before.slice(0, 59)}…` : before;
  return `${short} → ${text.trim() || 'nothing'}`;
}

const rounds = new Map<string, readonly Edit[]>();

/** The text of a changed script, whose loops end. It may have the statement twice. */
export function textOf(lua: string, mutant: Mutant): string {
  const all = rounds.get(lua) ?? roundsIn(treeOf(lua));
  rounds.set(lua, all);
  const edits = mutant.in.filter(({ script }) => script.lua === lua).map(({ edit }) => edit);
  return edited(lua, [...edits, ...all]);
}
