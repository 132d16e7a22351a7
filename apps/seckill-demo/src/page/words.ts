import type { Outcome } from '../arena/cell.js';
import type { Language } from '../arena/texts.js';

/** The same words in both languages. The compiler reports a missing word. */
export type InBoth<Words> = Readonly<Record<Language, Words>>;

/** Separators between two texts in one line. */
export const comma: InBoth<string> = { en: ', ', zh: '，' };
export const colon: InBoth<string> = { en: ': ', zh: '：' };

/** The names of buyers, in the timeline and in the sentences of a lesson. */
export const buyerWords: InBoth<(name: string) => string> = {
  en: (name) => name.replace(/^(first|next)$/, '$1 buyer').replace(/^buyer-/, 'buyer '),
  zh: (name) =>
    name === 'first'
      ? '第一个买家'
      : name === 'next'
        ? '下一个买家'
        : name.replace(/^buyer-/, '买家 '),
};

/** Whether an outcome is right, is harm, or does not apply. */
export type Tone = 'right' | 'harm' | 'none';

const RIGHT: readonly Outcome[] = ['exact', 'ok', 'refused'];

export function toneOf(outcome: Outcome): Tone {
  if (outcome === 'none') return 'none';
  return RIGHT.includes(outcome) ? 'right' : 'harm';
}

/** A right outcome that is not published was luck: no lock promises it. */
export function promisedTone(outcome: Outcome, published: Outcome | undefined): Tone {
  const tone = toneOf(outcome);
  return tone === 'right' && published === undefined ? 'none' : tone;
}

/** A sign beside the colour, for readers who do not see the colour. */
export const SIGNS: Readonly<Record<Tone, string>> = { right: '✓', harm: '✕', none: '–' };

export const outcomeWords: InBoth<Readonly<Record<Outcome, string>>> = {
  en: {
    exact: 'exact',
    oversells: 'oversells',
    undersells: 'undersells',
    miscounts: 'miscounts',
    breaks: 'breaks',
    ok: 'ok',
    refused: 'refused',
    stuck: 'stuck',
    'foreign-delete': 'foreign delete',
    oversold: 'oversold',
    'stale-write': 'stale write',
    'lost-piece': 'lost piece',
    none: 'not affected',
    error: 'error',
    overtakes: 'overtakes',
    'sells-early': 'sells early',
    overloads: 'overloads',
    torn: 'torn',
    deadlock: 'deadlock',
    partial: 'half a cart',
    leaks: 'leaks',
    repeats: 'repeats',
  },
  zh: {
    exact: '正好',
    oversells: '超卖',
    undersells: '少卖',
    miscounts: '账不平',
    breaks: '无响应',
    ok: '正常',
    refused: '已拦下',
    stuck: '卡死',
    'foreign-delete': '误删他人锁',
    oversold: '超卖',
    'stale-write': '过期写入',
    'lost-piece': '丢一件',
    none: '不适用',
    error: '出错',
    overtakes: '插队',
    'sells-early': '提前开卖',
    overloads: '过载',
    torn: '脏读',
    deadlock: '死锁',
    partial: '只卖一半',
    leaks: '漏放',
    repeats: '重复执行',
  },
};
