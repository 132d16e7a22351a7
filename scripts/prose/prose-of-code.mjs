import ts from 'typescript';
import { VALUE } from './readable.mjs';

/** Literals that are code: Lua, SQL, HTML, CSS, and what has fewer than three words. */
const CODE =
  /redis\.call|\bKEYS\[|\blocal \w+ =|^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH|BEGIN)\b|<\/\w|<\w+ [\w-]+=|[{};]\s*$/;
const PROSE = /(?:\p{L}[\p{L}',.:;-]*\s+(?:(?:`[^`]*`|\u200b§\u200b)\s+)?){2}|\p{Script=Han}{4}/u;

/** @param {ts.Expression} node @returns {string | undefined} */
function textOf(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map((span) => VALUE + span.literal.text).join('');
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [textOf(node.left), textOf(node.right)];
    if (left !== undefined || right !== undefined) return (left ?? VALUE) + (right ?? VALUE);
  }
  return undefined;
}

/** The expressions in a text that are no text. @param {ts.Node} node @returns {ts.Expression[]} */
function partsOf(node) {
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression);
  if (!ts.isBinaryExpression(node)) return [];
  return [node.left, node.right].flatMap((side) =>
    textOf(side) === undefined ? [side] : partsOf(side),
  );
}

/** A list of the names in Lua is no prose. @param {ts.Node} node */
const namesOfLua = (node) =>
  ts.isCallExpression(node) &&
  ts.isIdentifier(node.expression) &&
  node.expression.text === 'fragment';

const SPOKEN_TAGS = ['param', 'property', 'throws', 'returns', 'publicApi', 'internal'];

/** Each tag is a paragraph of its own; types and names are not prose. @param {string} comment */
const docstring = (comment) =>
  comment.split('\n').flatMap((line, index) => {
    const text = line
      .replace(/^\s*\/\*\*|\*\/\s*$/g, '')
      .replace(/^\s*\* ?/, '')
      .replace(/\{@link(?:code|plain)? ([^}|]*)(?:\|[^}]*)?\}/g, '`$1`')
      .trimEnd();
    const [tag, name = ''] = /^\s*@(\w+)/.exec(text) ?? [];
    if (tag === undefined) return [{ text, index }];
    const named = name === 'param' || name === 'property';
    const lead = named ? /^\s*@\w+\s*(?:\{.*?\}+(?=\s))?\s*\S*/ : /^\s*@\w+\s*(?:\{[^}]*\})?/;
    const prose = SPOKEN_TAGS.includes(name) ? text.replace(lead, '') : '';
    return [
      { text: '', index },
      { text: prose, index },
    ];
  });

/**
 * The docstrings and messages of a file, as one Markdown document, and the place of each line.
 *
 * @param {string} path
 * @param {string} code
 */
export function proseOfCode(path, code) {
  const file = ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true);
  /** @type {string[]} */
  const lines = [];
  /** @type {number[]} */
  const places = [];
  const emit = (
    /** @type {{ text: string, index: number }[]} */ texts,
    /** @type {number} */ position,
  ) => {
    const first = file.getLineAndCharacterOfPosition(position).line + 1;
    for (const { text, index } of [...texts, { text: '', index: 0 }]) {
      lines.push(text);
      places.push(first + index);
    }
  };
  const seen = new Set();
  /** @type {(node: ts.Node) => void} */
  const visit = (node) => {
    for (const { pos, end } of ts.getLeadingCommentRanges(code, node.getFullStart()) ?? []) {
      if (seen.has(pos) || !code.startsWith('/**', pos)) continue;
      seen.add(pos);
      emit(docstring(code.slice(pos, end)), pos);
    }
    if (ts.isImportDeclaration(node) || namesOfLua(node)) return;
    const text = ts.isExpression(node) ? textOf(node) : undefined;
    if (text === undefined) return ts.forEachChild(node, visit);
    if (PROSE.test(text) && !CODE.test(text))
      emit(
        text
          .split('\n')
          .flatMap((line) => [line.trim(), ''])
          .map((line) => ({ text: line, index: 0 })),
        node.getStart(),
      );
    partsOf(node).forEach(visit);
  };
  visit(file);
  return { markdown: lines.join('\n'), places };
}
