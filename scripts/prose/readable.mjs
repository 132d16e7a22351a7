const MARKUP = '\u200b';

/** A value in a message: a word, but no piece of code. */
export const VALUE = `${MARKUP}§${MARKUP}`;

/** @typedef {import('@textlint/ast-node-types').AnyTxtNode} TextNode */

/** The text in place of a picture, in Markdown or in HTML. */
const ALT = /(?<=^!\[)[^\]]+|(?<=\salt=")[^"]+/;

/**
 * The text of a block, as long as its source: code is `§`, markup and addresses have no width. A
 * picture is its `alt`.
 *
 * @param {string} source
 * @param {TextNode} block
 */
function readable(source, block) {
  if (['Image', 'Html'].includes(block.type)) return ALT.exec(source)?.[0] ?? '';
  const text = source.split('');
  const cover = (
    /** @type {number} */ from,
    /** @type {number} */ to,
    /** @type {string} */ by,
  ) => {
    for (let at = from; at < to; at += 1) if (text[at] !== '\n') text[at] = by;
  };
  const read = (/** @type {TextNode} */ node) => {
    if (node.type === 'Str') return;
    const [start, end] = [node.range[0] - block.range[0], node.range[1] - block.range[0]];
    const children = 'children' in node ? node.children : [];
    const inside =
      children.length > 0 ? children.map(({ range }) => range) : [[node.range[1], node.range[1]]];
    cover(start, (inside[0]?.[0] ?? 0) - block.range[0], node.type === 'Code' ? '§' : MARKUP);
    cover((inside.at(-1)?.[1] ?? 0) - block.range[0], end, MARKUP);
    children.forEach(read);
  };
  read(block);
  return text.join('');
}

/**
 * Whether a text is Chinese; one in English may have a few Chinese words.
 *
 * @param {string} text
 */
export const isChinese = (text) =>
  3 * (text.match(/\p{Script=Han}/gu)?.length ?? 0) > (text.match(/[a-z]/gi)?.length ?? 0);

/**
 * A rule of textlint that checks the text of each block.
 *
 * @param {import('@textlint/types').TextlintRuleContext} context
 * @param {(text: string, complain: (message: string, index?: number) => void) => void} check
 */
export function onEachBlock(context, check) {
  const { Syntax, RuleError, locator } = context;
  const read = (/** @type {TextNode} */ node) => {
    check(readable(context.getSource(node), node), (message, index = 0) => {
      context.report(node, new RuleError(message, { padding: locator.at(index) }));
    });
  };
  return {
    [Syntax.Paragraph]: read,
    [Syntax.Header]: read,
    [Syntax.TableCell]: read,
    [Syntax.Image]: read,
    [Syntax.Html]: read,
  };
}
