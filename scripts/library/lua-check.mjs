// Redis reports names without a declaration only when a script runs, and unused locals never.
import luaparse from 'luaparse';

/**
 * @typedef {luaparse.Node} Node
 * @typedef {{ line: number, says: string }} Finding
 * @typedef {{ name: string, line: number, isRead: boolean }} Local
 */

/** Those of the globals of Redis that a script needs. */
const GLOBALS = new Set([
  ...['redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'struct', 'bit', 'math', 'string', 'table'],
  ...[
    'error',
    'ipairs',
    'next',
    'pairs',
    'pcall',
    'select',
    'tonumber',
    'tostring',
    'type',
    'unpack',
  ],
]);

/**
 * @param {string} lua
 * @returns {Finding[]} in the order of the lines
 */
export function findingsIn(lua) {
  try {
    return new Walk().through(parsed(lua)).sort((a, b) => a.line - b.line);
  } catch (error) {
    const { line, message } = /** @type {SyntaxError & { line?: number }} */ (error);
    return [{ line: line ?? 1, says: message }];
  }
}

/**
 * The names that a part of a script needs from the parts before it, and those that it defines.
 * @param {string} lua
 * @returns {{ needs: string[], defines: string[] }} sorted
 */
export function namesIn(lua) {
  const { undeclared, defined } = new Walk().names(parsed(lua));
  return { needs: [...undeclared].sort(), defines: [...defined].sort() };
}

/** @param {string} lua */
function parsed(lua) {
  return luaparse.parse(lua, { luaVersion: '5.1', locations: true, comments: false });
}

/** Goes through a script once, with the locals that can be seen from where it is. */
class Walk {
  /** @type {Finding[]} */
  #findings = [];
  /** @type {Local[]} the innermost last */
  #locals = [];
  /** @type {Set<string>} */
  #undeclared = new Set();

  /** @param {luaparse.Chunk} chunk */
  through(chunk) {
    this.#block(chunk.body);
    return this.#findings;
  }

  /** @param {luaparse.Chunk} chunk */
  names(chunk) {
    this.#visit(chunk.body);
    return { undeclared: this.#undeclared, defined: new Set(this.#locals.map(({ name }) => name)) };
  }

  /**
   * @param {Node[]} nodes which see each the locals of those before
   * @param {Node[]} variables that are declared for them
   */
  #block(nodes, variables = []) {
    const outside = this.#locals.length;
    this.#declare(variables);
    this.#visit(nodes);
    for (const { name, line, isRead } of this.#locals.splice(outside))
      if (!isRead && name !== '_') this.#say(line, `the local ${name} is never read`);
  }

  /** @param {readonly unknown[]} nodes */
  #visit(nodes) {
    for (const node of nodes) if (isNode(node)) this.#node(node);
  }

  /** @param {Node} node */
  #node(node) {
    if (node.type === 'Identifier') this.#read(node);
    else if (node.type === 'MemberExpression') this.#node(node.base);
    else if (node.type === 'TableKeyString') this.#node(node.value);
    else if (node.type === 'FunctionDeclaration') this.#function(node);
    else if (node.type === 'RepeatStatement') this.#block([...node.body, node.condition]);
    else if (node.type === 'LocalStatement') {
      this.#visit(node.init);
      this.#declare(node.variables);
    } else if (node.type === 'AssignmentStatement') {
      this.#visit(node.init);
      for (const target of node.variables) this.#assign(target);
    } else this.#others(node);
  }

  /** @param {luaparse.FunctionDeclaration} node */
  #function({ identifier, isLocal, parameters, body }) {
    if (identifier && isLocal) this.#declare([identifier]);
    else if (identifier) this.#assign(identifier);
    this.#block(body, parameters);
  }

  /**
   * A statement with a body sees its variables there alone, and the rest of it before.
   * @param {Node} node
   */
  #others(node) {
    const { variable, variables, body, ...rest } =
      /** @type {{ variable?: Node, variables?: Node[], body?: Node[] }} */ (node);
    this.#visit(Object.values(rest).flat());
    if (body) this.#block(body, variables ?? (variable && [variable]));
  }

  /** @param {readonly Node[]} variables */
  #declare(variables) {
    for (const node of variables)
      if (node.type === 'Identifier')
        this.#locals.push({ name: node.name, line: lineOf(node), isRead: false });
  }

  /** @param {luaparse.Identifier} node */
  #read(node) {
    const local = this.#local(node);
    if (local) local.isRead = true;
    else if (!GLOBALS.has(node.name)) this.#free(node, `nothing declares ${node.name}`);
  }

  /** @param {Node} target */
  #assign(target) {
    if (target.type !== 'Identifier') this.#node(target);
    else if (!this.#local(target)) this.#free(target, `${target.name} is set as a global`);
  }

  /**
   * @param {luaparse.Identifier} node
   * @param {string} says
   */
  #free(node, says) {
    this.#undeclared.add(node.name);
    this.#say(lineOf(node), says);
  }

  /** @param {luaparse.Identifier} node */
  #local({ name }) {
    return this.#locals.findLast((local) => local.name === name);
  }

  /**
   * @param {number} line
   * @param {string} says
   */
  #say(line, says) {
    this.#findings.push({ line, says });
  }
}

/**
 * @param {unknown} value
 * @returns {value is Node}
 */
function isNode(value) {
  return value instanceof Object && 'type' in value;
}

/** @param {Node} node */
function lineOf(node) {
  return node.loc?.start.line ?? 1;
}
