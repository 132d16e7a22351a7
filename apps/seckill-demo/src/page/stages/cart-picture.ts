import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Step } from '../../arena/step.js';
import { head, isAnswer } from './scene.js';
import type { Picture, Scene } from './scene.js';

const ROWS = { first: 31, second: 91 } as const;
type Cart = keyof typeof ROWS;
const CARTS = ['first', 'second'] as const;

/** Two carts and two products: the holder of each, and its waiter. */
export const cartPicture: Picture = {
  isMovedBy: (step) => isAnswer(step) || hasLock(step),
  draw: ({ steps, withLock }) => svg`
    <defs>${head('cart-good', 'head')} ${head('cart-harm', 'harm-head')}</defs>
    ${box(ROWS.first, '1')} ${box(ROWS.second, '2')}
    ${product(ROWS.first, 'A')} ${product(ROWS.second, 'B')}
    ${withLock ? together(steps) : oneByOne(steps)}`,
};

/**
 * Each cart holds one product, and then waits for the product of the other. The first one that gives
 * up releases its lock, so the other may still buy.
 */
function oneByOne(steps: Scene['steps']): SVGTemplateResult {
  const holders = CARTS.filter((cart) =>
    steps.some((step) => step.kind === 'passed' && step.buyer === cart),
  );
  const isWaiting = holders.length === CARTS.length;
  return svg`${CARTS.map((cart) => {
    const answer = steps.find((step) => isAnswer(step) && step.buyer === cart);
    const hasBought = answer?.kind === 'answered' && answer.answer === 'sold';
    const [look, tone] = hasBought
      ? (['line', 'good'] as const)
      : (['harm-line dashed', 'harm'] as const);
    return svg`
      ${holders.includes(cart) ? way(ROWS[cart], ROWS[cart], 'line', 'good') : ''}
      ${isWaiting ? way(ROWS[cart], ROWS[otherOf(cart)], look, tone) : ''}
      ${answer === undefined ? '' : verdict(ROWS[cart], hasBought)}`;
  })}`;
}

/** Whether a cart has bought, above it. */
function verdict(row: number, hasBought: boolean): SVGTemplateResult {
  return svg`<text class=${hasBought ? 'tag good-text' : 'tag harm-text'} x="34" y=${row - 20}>
    ${hasBought ? '✓' : '✕'}</text>`;
}

/** The cart with the locks holds both; the other cart follows. */
function together(steps: Scene['steps']): SVGTemplateResult {
  const latest = steps.findLast((step) => step.kind === 'passed');
  if (latest?.kind !== 'passed') return svg``;
  const row = ROWS[latest.buyer.startsWith('first') ? 'first' : 'second'];
  const sold = steps.filter((step) => isAnswer(step) && step.answer === 'sold').length;
  return svg`${way(row, ROWS.first, 'line', 'good')} ${way(row, ROWS.second, 'line', 'good')}
    <text class="tag good-text" x="218" y="66">✓ ${sold}</text>`;
}

function otherOf(cart: Cart): Cart {
  return cart === 'first' ? 'second' : 'first';
}

function way(from: number, to: number, look: string, tone: 'good' | 'harm'): SVGTemplateResult {
  return svg`<line class=${look} x1="58" y1=${from} x2="192" y2=${to} marker-end="url(#cart-${tone})" />`;
}

function box(y: number, name: string): SVGTemplateResult {
  return svg`<rect class="hollow" x="12" y=${y - 17} width="44" height="34" rx="6" />
    <text class="tag" x="34" y=${y + 5}>${name}</text>`;
}

function product(y: number, name: string): SVGTemplateResult {
  return svg`<rect class="good-frame" x="196" y=${y - 17} width="44" height="34" rx="17" />
    <text class="tag" x="218" y=${y + 5}>${name}</text>`;
}

function hasLock(step: Step): boolean {
  return step.kind === 'passed' && step.point === 'before-read';
}
