import { isChinese, onEachBlock } from './readable.mjs';

/**
 * The words that a reader has to decode, and what to write in their place. `docs/internals/glossary.md` has the words that stay.
 *
 * @type {readonly (readonly [words: RegExp, instead: string])[]}
 */
const WORDS = [
  [/\b(?:who|what|which)ever\b/gi, 'name the actor or the thing'],
  [/\b(?:some|no|any|every)body\b|\b(?:some|any|every|no\s+)one\b/gi, 'name the actor'],
  [/\bask(?:s|ed|ing)?\b/gi, 'send, request, check or call'],
  [/\b(?:tells|told|telling)\b/gi, 'report, notify, say or show'],
  [/\b(?:hears?|heard|hearing)\b/gi, 'receive, or be notified'],
  [/\bg(?:ives?|iving|ave|iven)(?:\s+\S+){0,3}\s+back\b/gi, 'release or return'],
  [/\bhad\b/gi, 'hold, held or has'],
  [/\bat\s+it\b/gi, 'name what the actor does'],
  [/\bof\s+(?:no\s+)?use\b/gi, 'useful, or say what for'],
  [/\bone\s+too\s+many\b/gi, 'one more than …'],
  [/\bfor\s+ever\b/gi, 'say until when'],
  [/\b(?:he|him|his|she|hers?)\b/gi, 'it, its, or you'],
];

const OPENING = /^[^\p{L}\d§]*(?:What|Whom?|Of)\b/u;

const MAX_WORDS = 20;

const SENTENCE = /\S.*?(?:[.!?](?=[)"\u200b]*(?:\s|$))|$)/gs;

/**
 * A rule of textlint: words of the glossary, and short sentences that begin with the actor.
 *
 * @param {import('@textlint/types').TextlintRuleContext} context
 */
export default function plainWords(context) {
  return onEachBlock(context, (text, complain) => {
    if (isChinese(text)) return;
    for (const [words, instead] of WORDS)
      for (const { 0: word, index } of text.matchAll(words))
        complain(`"${word}": ${instead}`, index);
    for (const { 0: sentence, index } of text.matchAll(SENTENCE)) {
      if (OPENING.test(sentence)) complain('The sentence begins with What, Who or Of', index);
      const count = sentence.match(/[\p{L}\d§]\S*/gu)?.length ?? 0;
      if (count > MAX_WORDS)
        complain(`The sentence has ${count} words, of at most ${MAX_WORDS}`, index);
    }
  });
}
