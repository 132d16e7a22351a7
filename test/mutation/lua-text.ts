import luaparse from 'luaparse';

/** A part of a text, and what stands there instead. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type Node = luaparse.Node & { readonly range: [number, number] };

/** A script as a tree whose nodes know their places in its text. */
export function treeOf(lua: string): luaparse.Chunk {
  return luaparse.parse(lua, { luaVersion: '5.1', ranges: true, comments: false });
}

/** Edits inside of an earlier one are lost with their place. An insertion before it stays. */
export function edited(lua: string, edits: readonly Edit[]): string {
  const inOrder = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  let [text, at] = ['', 0];
  for (const { start, end, text: by } of inOrder) {
    if (start < at) continue;
    text += lua.slice(at, start) + by;
    at = end;
  }
  return text + lua.slice(at);
}

const STATEMENT = /(?:Statement|FunctionDeclaration)$/;

function isNode(value: unknown): value is Node {
  return value instanceof Object && 'type' in value;
}

export function childrenOf(node: luaparse.Node): Node[] {
  return Object.values(node).flat().filter(isNode);
}

/** A block's statements: of the script, of a function, a loop or a branch. */
export function blockOf(node: luaparse.Node): readonly Node[] {
  return 'body' in node ? (node.body as Node[]) : [];
}

/** Each statement of a block in the order of the text, so that its place there is its number. */
export function statementsIn(tree: luaparse.Chunk): Node[] {
  const found: Node[] = [];
  const visit = (node: luaparse.Node) => {
    const block = new Set<luaparse.Node>(blockOf(node));
    for (const child of childrenOf(node)) {
      if (block.has(child) && STATEMENT.test(child.type)) found.push(child);
      visit(child);
    }
  };
  visit(tree);
  return found.sort((a, b) => a.range[0] - b.range[0]);
}

const LOOP = /^(While|ForNumeric|ForGeneric|Repeat)Statement$/;

/** Each round of a loop calls this command, so that one without an end can be ended. */
export const ROUND = 'round';
/** Each statement calls this command before, with its number. */
export const REACHED = 'reached';

function bodies(tree: luaparse.Node): Node[][] {
  const own = LOOP.test(tree.type) ? [[...blockOf(tree)]] : [];
  return [...own, ...childrenOf(tree).flatMap(bodies)];
}

/** Where the rounds of its loops are counted. */
export function roundsIn(tree: luaparse.Chunk): Edit[] {
  return bodies(tree).flatMap(([first]) => (first ? [before(first, `'${ROUND}'`)] : []));
}

/** The script tells of each statement before it. */
export function telling(lua: string): string {
  const all = statementsIn(treeOf(lua));
  return edited(
    lua,
    all.map((statement, i) => before(statement, `'${REACHED}', '${String(i)}'`)),
  );
}

function before({ range: [start] }: Node, words: string): Edit {
  return { start, end: start, text: `redis.call(${words}); ` };
}
