import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import { WIDTH } from './scene.js';
import type { Scene } from './scene.js';

/** A lamp for each process; the doors open when the last one is lit. */
export function openingPicture({ result, isRunning, withLock }: Scene): SVGTemplateResult {
  const figures = result?.part === 'opening' ? result : undefined;
  const lamps = Math.min(8, figures?.processes ?? 2);
  const lit = figures !== undefined ? lamps : isRunning ? lamps - 1 : 0;
  const isOpen = figures !== undefined && withLock;
  return svg`
    ${Array.from({ length: lamps }, (_, lamp) => {
      const x = 24 + lamp * Math.min(34, 120 / lamps);
      return svg`<circle class=${lamp < lit ? 'good' : 'hollow'} cx=${x} cy="60" r="11" />
        ${lamp < lit ? svg`<text class="sign" x=${x} y="65">✓</text>` : ''}`;
    })}
    <rect class="hollow" x=${WIDTH - 92} y="18" width="76" height="86" rx="4" />
    <rect class="door" x=${WIDTH - 92} y="18" width=${isOpen ? 10 : 37} height="86" />
    <rect class="door" x=${isOpen ? WIDTH - 26 : WIDTH - 53} y="18" width=${isOpen ? 10 : 37} height="86" />
    ${isOpen ? svg`<text class="figure" x=${WIDTH - 54} y="68">${figures.sold}</text>` : ''}
  `;
}
