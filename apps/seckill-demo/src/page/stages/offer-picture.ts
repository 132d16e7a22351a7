import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Step } from '../../arena/step.js';
import { isAnswer } from './scene.js';
import type { Picture, Scene } from './scene.js';

const COLUMNS = 4;
const MERCHANT = 'merchant';

/** Each reader saw this price and stock. Old and old fit together; old and new are torn. */
export const offerPicture: Picture = {
  isMovedBy: (step) => isAnswer(step) || isReading(step),
  draw: ({ result, steps, withLock }) => {
    const readers = steps.filter(isReading).map((step) => step.buyer);
    const read = new Set(steps.filter(isAnswer).map(({ buyer }) => buyer));
    const isTorn = result?.part === 'offer' ? result.torn > 0 : !withLock;
    return svg`
      ${readers.map((reader, place) => {
        const [x, y] = [4 + (place % COLUMNS) * 50, 8 + Math.floor(place / COLUMNS) * 37];
        if (!read.has(reader)) return whole(x, y, false);
        return isTorn ? torn(x, y) : whole(x, y, true);
      })}
      ${merchant(steps)}`;
  },
};

/** The new offer is on the right after the merchant got in. Until then, the merchant is outside. */
function merchant(steps: Scene['steps']): SVGTemplateResult {
  const answers = steps.filter(isAnswer).filter(({ buyer }) => buyer === MERCHANT);
  const hasChanged = answers.some(({ answer }) => answer === 'sold');
  const isKeptOut = !hasChanged && answers.length > 0;
  const look = hasChanged ? 'good-frame' : isKeptOut ? 'hollow dashed' : 'hollow';
  return svg`<rect class=${look} x="210" y="26" width="46" height="68" rx="6" />
    <text class="tag" x="233" y="54">${hasChanged ? '49' : isKeptOut ? '❚❚' : '…'}</text>
    ${hasChanged ? svg`<text class="tag" x="233" y="78">500</text>` : ''}`;
}

function whole(x: number, y: number, isRead: boolean): SVGTemplateResult {
  return svg`<rect class=${isRead ? 'good-frame' : 'hollow'} x=${x} y=${y} width="46" height="28" rx="3" />
    <text class="tag" x=${x + 13} y=${y + 18}>99</text>
    <text class="tag" x=${x + 34} y=${y + 18}>${isRead ? '10' : '…'}</text>`;
}

/** The new stock has slipped off the old price. */
function torn(x: number, y: number): SVGTemplateResult {
  return svg`<path class="good-frame" d="M${x} ${y} h22 l-4 7 l4 7 l-4 7 l4 7 h-22 z" />
    <path class="harm-frame" d="M${x + 23} ${y + 4} h24 v28 h-24 l-4 -7 l4 -7 l-4 -7 z" />
    <text class="tag" x=${x + 10} y=${y + 18}>99</text>
    <text class="tag harm-text" x=${x + 34} y=${y + 22}>500</text>`;
}

function isReading(step: Step): step is Extract<Step, { kind: 'passed' }> {
  return step.kind === 'passed' && step.point === 'between-reads';
}
