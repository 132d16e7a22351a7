import { svg } from 'lit';
import { isAnswer, WIDTH } from './scene.js';
import type { Picture } from './scene.js';

/** A lamp for each process. The doors open when the last lamp is on. Early buyers stay outside. */
export const openingPicture: Picture = {
  isMovedBy: isAnswer,
  draw: ({ steps, processes }) => {
    const answers = steps.filter(isAnswer);
    const sold = answers.filter(({ answer }) => answer === 'sold').length;
    const lamps = Math.min(8, processes);
    const lit = sold > 0 ? lamps : answers.length > 0 ? lamps - 1 : 0;
    const isOpen = sold > 0;
    return svg`
      ${Array.from({ length: lamps }, (_, lamp) => {
        const x = 24 + lamp * Math.min(34, 120 / lamps);
        return svg`<circle class=${lamp < lit ? 'good' : 'hollow'} cx=${x} cy="40" r="11" />
          ${lamp < lit ? svg`<text class="sign" x=${x} y="45">✓</text>` : ''}`;
      })}
      ${Array.from({ length: Math.min(8, answers.length - sold) }, (_, buyer) => {
        return svg`<circle class="hollow" cx=${20 + buyer * 17} cy="86" r="6" />`;
      })}
      <rect class="hollow" x=${WIDTH - 92} y="18" width="76" height="86" rx="4" />
      <rect class="door" x=${WIDTH - 92} y="18" width=${isOpen ? 10 : 37} height="86" />
      <rect class="door" x=${isOpen ? WIDTH - 26 : WIDTH - 53} y="18" width=${isOpen ? 10 : 37} height="86" />
      ${isOpen ? svg`<text class="figure" x=${WIDTH - 54} y="68">${sold}</text>` : ''}`;
  },
};
