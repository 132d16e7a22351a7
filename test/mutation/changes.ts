import type luaparse from 'luaparse';
import { childrenOf, type Edit, type Node } from './lua-text.js';

/** A comparison becomes the one beside it, and its contrary. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  ...{ '==': ['~='], '~=': ['=='] },
  ...{ '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'] },
  ...{ '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'], '%': ['*'] },
  ...{ and: ['or'], or: ['and'] },
};

/** A write becomes one that does less, or another; a read one that answers something else. */
const KIN: Readonly<Record<string, string>> = {
  ...{ del: 'exists', hset: 'hget', hdel: 'hexists', set: 'get', pexpire: 'pttl' },
  ...{ zadd: 'zscore', zrem: 'zscore', rpush: 'llen', linsert: 'llen', lrem: 'llen' },
  ...{ lpop: 'llen', zpopmin: 'zcard', rename: 'exists', sadd: 'exists', srem: 'exists' },
  ...{ incr: 'decr', decr: 'incr', incrby: 'decrby', decrby: 'incrby' },
  ...{ zremrangebyrank: 'zrange', zremrangebyscore: 'zcount', publish: 'exists' },
  ...{ get: 'exists', hget: 'hexists', hexists: 'hget', exists: 'type', pttl: 'exists' },
  ...{ hlen: 'exists', llen: 'exists', zcard: 'exists', zscore: 'zcard', hgetall: 'hkeys' },
  ...{ hkeys: 'hgetall', lindex: 'llen', lpos: 'llen' },
};

/** An error is for people, behind its code. */
const IS_MESSAGE = /^['"](LOCK[A-Z]+|ERR) /;

type Make = (node: Node, lua: string, parent: Node | undefined) => Edit[];

const instead = ({ range: [start, end] }: Node, text: string): Edit => ({ start, end, text });
const removed = (node: Node) => [instead(node, '')];

/** The operator between two operands, wherever brackets stand. */
const operator: Make = (node, lua) => {
  const { left, right, operator: of } = node as unknown as Binary;
  const at = operatorAt(lua, left.range[1], right.range[0], of);
  const others = (OPERATORS[of] ?? []).map((text) => ({ start: at, end: at + of.length, text }));
  return of === '..' ? [instead(right, `''`)] : others;
};

interface Binary {
  readonly left: Node;
  readonly right: Node;
  readonly operator: string;
}

function operatorAt(lua: string, from: number, to: number, of: string): number {
  const at = lua.slice(from, to).indexOf(of);
  if (at === -1) throw new Error(`There is no ${of} in ${lua.slice(from, to)}`);
  return from + at;
}

const condition: Make = (node) => {
  const { condition } = node as unknown as { condition: Node };
  return [instead(condition, 'true'), instead(condition, 'false')];
};

const text: Make = (node, lua, parent) => {
  const raw = lua.slice(...node.range);
  const word = raw.slice(1, -1);
  const kin = KIN[word];
  if (kin !== undefined && parent?.type === 'CallExpression') return [instead(node, `'${kin}'`)];
  if (isCommand(node, parent) || IS_MESSAGE.test(raw)) return [];
  return [instead(node, word === '' ? `'?'` : `''`)];
};

function isCommand(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== 'CallExpression') return false;
  const { base, arguments: given } = parent;
  return (
    given[0] === node && base.type === 'MemberExpression' && /call$/.test(base.identifier.name)
  );
}

/** An error that does not end the script would. */
const strict: Make = (node, lua) => {
  const { base } = node as unknown as { base: Node };
  return lua.slice(...base.range) === 'redis.pcall' ? [instead(base, 'redis.call')] : [];
};

const number: Make = (node, lua, parent) => {
  // The declaration of a script numbers its keys and arguments.
  if (parent?.type === 'IndexExpression' && /^(KEYS|ARGV)/.test(lua.slice(...parent.range)))
    return [];
  const { value } = node as unknown as { value: number };
  return [value + 1, value - 1].map((other) =>
    instead(node, other < 0 ? `(${other})` : `${other}`),
  );
};

const negation: Make = (node) => {
  const { operator: of, argument } = node as unknown as { operator: string; argument: Node };
  return of === 'not' || of === '-'
    ? [{ start: node.range[0], end: argument.range[0], text: of === 'not' ? 'not not ' : '' }]
    : [];
};

const CHANGES: Readonly<Partial<Record<luaparse.Node['type'], Make>>> = {
  BinaryExpression: operator,
  LogicalExpression: operator,
  UnaryExpression: negation,
  IfClause: condition,
  ElseifClause: condition,
  WhileStatement: (node) => [instead((node as unknown as { condition: Node }).condition, 'false')],
  NumericLiteral: number,
  StringLiteral: text,
  BooleanLiteral: (node, lua) => [
    instead(node, lua.slice(...node.range) === 'true' ? 'false' : 'true'),
  ],
  CallExpression: strict,
  CallStatement: removed,
  AssignmentStatement: removed,
  BreakStatement: removed,
  ReturnStatement: (node, lua) => {
    const words = lua.slice(...node.range).trim();
    if (words === 'return') return removed(node);
    // To Redis, and to a condition, `false` is the same.
    return /^return (nil|false|true)$/.test(words) ? [] : [instead(node, 'return nil')];
  },
};

/** Each change of this part of a script, alone. */
export function changesOf(node: Node, lua: string, parent?: Node): Edit[] {
  const own = CHANGES[node.type]?.(node, lua, parent) ?? [];
  return [...own, ...childrenOf(node).flatMap((child) => changesOf(child, lua, node))];
}
