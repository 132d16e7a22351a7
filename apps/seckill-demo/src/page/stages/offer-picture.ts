import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Scene } from './scene.js';

const COLUMNS = 4;

/** What each reader saw: a price and a stock. Old and old fit together; old and new are torn. */
export function offerPicture({ result, isRunning }: Scene): SVGTemplateResult {
  const figures = result?.part === 'offer' ? result : undefined;
  const readers = figures?.readers ?? (isRunning ? 12 : 0);
  return svg`${Array.from({ length: readers }, (_, reader) => {
    const [x, y] = [4 + (reader % COLUMNS) * 64, 8 + Math.floor(reader / COLUMNS) * 37];
    const isTorn = figures !== undefined && reader < figures.torn;
    return isTorn ? torn(x, y) : whole(x, y, figures !== undefined);
  })}`;
}

function whole(x: number, y: number, isRead: boolean): SVGTemplateResult {
  return svg`<rect class=${isRead ? 'good-frame' : 'hollow'} x=${x} y=${y} width="56" height="28" rx="3" />
    <text class="tag" x=${x + 15} y=${y + 18}>99</text>
    <text class="tag" x=${x + 41} y=${y + 18}>${isRead ? '10' : '…'}</text>`;
}

/** The new stock has slipped off the old price. */
function torn(x: number, y: number): SVGTemplateResult {
  return svg`<path class="good-frame" d="M${x} ${y} h28 l-5 7 l5 7 l-5 7 l5 7 h-28 z" />
    <path class="harm-frame" d="M${x + 31} ${y + 4} h26 v28 h-26 l-5 -7 l5 -7 l-5 -7 z" />
    <text class="tag" x=${x + 12} y=${y + 18}>99</text>
    <text class="tag harm-text" x=${x + 43} y=${y + 22}>500</text>`;
}
