import { unknown } from '../unknown.js';

const CLASSES: Readonly<Record<string, string>> = {
  ...{ a: 'A-Za-z', d: '0-9', l: 'a-z', s: ' \\t-\\r', u: 'A-Z', w: 'A-Za-z0-9', x: '0-9A-Fa-f' },
};
const QUANTIFIERS: Readonly<Record<string, string>> = { '*': '*', '+': '+', '?': '?', '-': '*?' };

const patterns = new Map<string, RegExp>();

/** The first match of a pattern of Lua from there on. */
export function search(text: string, pattern: string, from: number): RegExpExecArray | null {
  const expression = patternOf(pattern);
  expression.lastIndex = from;
  return expression.exec(text);
}

export function patternOf(pattern: string): RegExp {
  let found = patterns.get(pattern);
  if (found === undefined) patterns.set(pattern, (found = translated(pattern)));
  found.lastIndex = 0;
  return found;
}

/** Both go back in the same way, so they match the same. */
function translated(pattern: string): RegExp {
  const isAnchored = pattern.startsWith('^');
  let source = '';
  for (let at = isAnchored ? 1 : 0; at < pattern.length;) {
    const character = pattern[at] ?? '';
    if (character === '(' || character === ')') {
      if (pattern.startsWith('()', at)) unknown(`pattern ${pattern}`);
      source += character;
      at += 1;
    } else if (character === '$' && at === pattern.length - 1) {
      source += '$';
      at += 1;
    } else {
      const end = endOfClass(pattern, at);
      const quantifier = QUANTIFIERS[pattern[end] ?? ''];
      source += classOf(pattern.slice(at, end)) + (quantifier ?? '');
      at = end + Number(quantifier !== undefined);
    }
  }
  try {
    return new RegExp(source, isAnchored ? 'y' : 'g');
  } catch {
    return unknown(`pattern ${pattern}`);
  }
}

function endOfClass(pattern: string, at: number): number {
  if (pattern[at] === '%') return at + 2;
  if (pattern[at] !== '[') return at + 1;
  // A bracket right after the opening one stands for itself.
  const set = /^\[\^?(%[^]|[^%])(%[^]|[^\]%])*\]/.exec(pattern.slice(at));
  return at + (set?.[0].length ?? unknown(`pattern ${pattern}`));
}

function classOf(one: string): string {
  if (one === '.') return '[^]';
  if (one.startsWith('%')) return `[${escaped(one)}]`;
  if (!one.startsWith('[') || one.length === 1) return one.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
  const [, not = '', members = ''] = /^\[(\^?)([^]*)\]$/.exec(one) ?? [];
  return `[${not}${members.replace(/%[^]|[\\\][^]/g, escaped)}]`;
}

/** Inside of a set. */
function escaped(one: string): string {
  if (!one.startsWith('%')) return `\\${one}`;
  const name = one.charAt(1);
  return (
    CLASSES[name] ??
    complementOf(name) ??
    (/\w/.test(name) ? unknown(`pattern ${one}`) : `\\${name}`)
  );
}

/** `%X` is all but `%x`, also inside of a set. */
function complementOf(name: string): string | undefined {
  const members = CLASSES[name.toLowerCase()];
  if (members === undefined) return undefined;
  const isMember = new RegExp(`[${members}]`);
  const others = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
  return others
    .filter((character) => !isMember.test(character))
    .map((character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .join('');
}
