import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Scene } from './scene.js';

const LAMPS = 5;
const COLUMNS = 10;

/** The gateway with its five lamps, and what became of those who paid at once. */
export function paymentPicture({ result, isRunning }: Scene): SVGTemplateResult {
  const figures = result?.part === 'payment' ? result : undefined;
  const lit = figures?.inside ?? (isRunning ? LAMPS : 0);
  const thrownOut = figures?.refused ?? 0;
  const paid = figures?.paid ?? 0;
  return svg`
    <rect class=${thrownOut > 0 ? 'harm-frame' : 'hollow'} x="8" y="10" width="150" height="36" rx="8" />
    ${Array.from({ length: LAMPS }, (_, lamp) => {
      return svg`<circle class=${lamp < lit ? 'good' : 'hollow'} cx=${30 + lamp * 27} cy="28" r="9" />`;
    })}
    ${Array.from({ length: paid + thrownOut }, (_, buyer) => {
      const [x, y] = [18 + (buyer % COLUMNS) * 24, 72 + Math.floor(buyer / COLUMNS) * 26];
      return buyer < paid
        ? svg`<circle class="good" cx=${x} cy=${y} r="8" /><text class="sign" x=${x} y=${y + 4}>✓</text>`
        : svg`<rect class="harm" x=${x - 8} y=${y - 8} width="16" height="16" /><text class="sign" x=${x} y=${y + 4}>✕</text>`;
    })}
  `;
}
