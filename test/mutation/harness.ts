import { expect } from 'expect';

export { expect };

type Work = () => unknown;
type Hooks = Record<'before' | 'after' | 'beforeEach' | 'afterEach', Work[]>;

/** One `it` of a spec, with the hooks around it. */
export interface Case {
  readonly name: string;
  readonly file: string;
  run(): Promise<void>;
}

interface Group {
  readonly name: string;
  readonly hooks: Hooks;
  readonly outer: Group | undefined;
}

const newGroup = (name: string, outer?: Group): Group => ({
  ...{ name, outer },
  hooks: { before: [], after: [], beforeEach: [], afterEach: [] },
});

let group = newGroup('');
let file = '';
let cases: Case[] = [];
let begun: Work[] = [];

/** The cases of a spec file, which `load` imports. Its hooks `beforeAll` have run. */
export async function casesOf(path: string, load: () => Promise<unknown>): Promise<Case[]> {
  [group, file, cases, begun] = [newGroup(''), path, [], []];
  await load();
  // The cases behind a hook that fails here fail, too.
  for (const work of begun)
    await Promise.resolve()
      .then(work)
      .catch(() => undefined);
  return cases;
}

const around = (of: Group | undefined, hook: keyof Hooks): Work[] =>
  of === undefined ? [] : [...around(of.outer, hook), ...of.hooks[hook]];

const nameOf = (of: Group): string =>
  of.outer === undefined ? of.name : `${nameOf(of.outer)} ${of.name}`.trim();

function describeOne(name: string, work: () => void): void {
  group = newGroup(name, group);
  work();
  group = group.outer ?? group;
}

function itOne(name: string, work: () => unknown): void {
  const of = group;
  cases.push({
    name: `${nameOf(of)} ${name}`.trim(),
    file,
    run: async () => {
      for (const hook of around(of, 'beforeEach')) await hook();
      try {
        await work();
      } finally {
        for (const hook of around(of, 'afterEach').reverse()) await hook();
      }
    },
  });
}

/** `$name` and `%s` of a row, as far as a reader needs them. */
function rowName(name: string, row: unknown, i: number): string {
  return `${name.replace(/\$(\w+)/g, (_, key: string) => String((row as Record<string, unknown>)[key]))} #${String(i)}`;
}

const each =
  (declare: (name: string, work: () => never) => void) =>
  (rows: readonly unknown[]) =>
  (name: string, work: (...row: unknown[]) => unknown) => {
    for (const [i, row] of rows.entries()) {
      const args: unknown[] = Array.isArray(row) ? row : [row];
      declare(rowName(name, row, i), () => work(...args) as never);
    }
  };

const skip = Object.assign(() => undefined, { each: () => () => undefined });
export const describe = Object.assign(describeOne, { each: each(describeOne), skip });
export const it = Object.assign(itOne, { each: each(itOne), skip });
export const test = it;

export const beforeAll = (work: Work) => begun.push(work);
export const afterAll = (_: Work) => undefined;
export const beforeEach = (work: Work) => group.hooks.beforeEach.push(work);
export const afterEach = (work: Work) => group.hooks.afterEach.push(work);
