import type { Page } from 'playwright-core';
import {
  FAULT_NAMES,
  PART_NAMES,
  STRATEGY_NAMES,
} from '../../apps/seckill-demo/src/options/names.mjs';
import { STRATEGY_NAMES as PLAYGROUND } from '../../apps/seckill-demo/src/playground/experiment.js';
import type { Language } from '../../apps/seckill-demo/src/arena/texts.js';

/** Latin words that a Chinese page has: names, commands, units. */
const SAME_IN_BOTH: ReadonlySet<string> = new Set([
  ...[...STRATEGY_NAMES, ...FAULT_NAMES, ...PART_NAMES, ...PLAYGROUND],
  ...'nestjs-redis-lock Redis REDIS_URL Lua Postgres BullMQ CronLock assertHeld'.split(' '),
  ...'SETNX EXPIRE SET NX PX GET DEL DECR nil SQL UPDATE WHERE stock'.split(' '),
  ...'Redisson Node UUID synchronized finally lock await WithLock redis LEASE_LOST token'.split(
    ' ',
  ),
  ...'TTL pid ms s p50 p99 A B'.split(' '),
]);
/** Buyers are named by the arena or by themselves. */
const BUYER = /^(first|next|(buyer|robot|guest|early|b)-?\w*|visitor)$/;

/** Texts of the other language, in what is seen and in what is read aloud, and values that are none. */
export async function foreignTexts(page: Page, language: Language): Promise<string[]> {
  const texts = await textsOn(page);
  const isForeign = language === 'en' ? hasChinese : hasEnglish;
  return [...new Set(texts.filter((text) => isForeign(text) || hasNoValue(text)))];
}

function hasChinese(text: string): boolean {
  return /[\p{Script=Han}\u3000-\u303f\uff00-\uffef]/u.test(text);
}

function hasEnglish(text: string): boolean {
  // Latin commas and colons beside Chinese.
  if (/\p{Script=Han}\s*[,;:!?]|[,;:!?]\s*\p{Script=Han}/u.test(text)) return true;
  const words = text.match(/[A-Za-z_][\w-]*/g) ?? [];
  return words.some((word) => !SAME_IN_BOTH.has(word) && !BUYER.test(word));
}

function hasNoValue(text: string): boolean {
  return /\b(undefined|null|NaN|object Object)\b/.test(text);
}

/** Without code, and without what says itself that it is of another language. */
function textsOn(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const own = document.documentElement.lang;
    const isLeftOut = (element: Element): boolean =>
      element.matches('code, pre .line, style, script, noscript, input') ||
      (element.hasAttribute('lang') && element.getAttribute('lang') !== own);
    const textsIn = function* (node: Node): Generator<string> {
      if (node instanceof Text) yield node.data;
      if (!(node instanceof Element || node instanceof ShadowRoot)) return;
      if (node instanceof Element) {
        if (isLeftOut(node)) return;
        for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
          yield node.getAttribute(name) ?? '';
        }
        if (node.shadowRoot) yield* textsIn(node.shadowRoot);
      }
      for (const child of node.childNodes) yield* textsIn(child);
    };
    return [...textsIn(document.body)].map((text) => text.trim()).filter((text) => text !== '');
  });
}

/** Everything that does not fit: the page itself, and the words of a button or of a cell. */
export function overflows(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const elementsIn = function* (root: ParentNode): Generator<Element> {
      for (const element of root.querySelectorAll('*')) {
        yield element;
        if (element.shadowRoot) yield* elementsIn(element.shadowRoot);
      }
    };
    const isIn = (outer: Element): boolean => outer.scrollWidth <= outer.clientWidth + 1;
    const { scrollWidth } = document.documentElement;
    const wide = scrollWidth > innerWidth ? [`the page: ${scrollWidth} of ${innerWidth}`] : [];
    for (const element of elementsIn(document.body)) {
      const hasOwnText = element.matches('button, th, td, dd, dt, h1, h2, h3, h4, p, a, label, li');
      if (!hasOwnText || isIn(element)) continue;
      wide.push(`${element.localName}: ${element.textContent.replace(/\s+/g, ' ').trim()}`);
    }
    return wide;
  });
}
