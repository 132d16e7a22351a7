import { isChinese, onEachBlock, VALUE } from './readable.mjs';

const HAN = '\\p{Script=Han}';
const WIDE = '，。：；？！、（）“”';

/** @type {readonly (readonly [found: RegExp, complaint: string])[]} */
const FINDINGS = [
  [RegExp(`${HAN}[A-Za-z0-9§]|[A-Za-z0-9§]${HAN}`, 'gu'), 'needs a space between'],
  [RegExp(` [${WIDE}]|[${WIDE}] `, 'gu'), 'has a space beside a full-width sign'],
  [RegExp(`${HAN}[,;:?!()]|[,;:?!()]${HAN}`, 'gu'), 'needs a full-width sign'],
  // Markdown does not end bold text after a sign and before a letter.
  [/\*\*/g, 'is no bold text'],
  [
    /(?<!访)问 ?Redis|听到|值多久|死去|死掉|说真话|主人|告知|某人|隔离令牌|栅栏|闩锁|调用者|(?<![所可])以 ?[\w§]+ ?拒绝/gu,
    'is a calque: docs/internals/glossary.md has the thing',
  ],
];

/**
 * A rule of textlint: spaces and signs of Chinese text, and no calques.
 *
 * @param {import('@textlint/types').TextlintRuleContext} context
 */
export default function chinese(context) {
  return onEachBlock(context, (block, complain) => {
    const text = block.replaceAll(VALUE, '~').replaceAll('\u200b', '');
    if (!isChinese(text)) return;
    for (const [signs, complaint] of FINDINGS)
      for (const [found] of text.matchAll(signs)) complain(`"${found}" ${complaint}`);
  });
}
