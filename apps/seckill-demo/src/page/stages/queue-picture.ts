import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import { tracesOf } from '../timeline/trace.js';
import { WIDTH } from './scene.js';
import type { Scene } from './scene.js';
import { orderOf } from './arrivals.js';

const TOP = 30;
const BOTTOM = 96;
const EDGE = 12;

/** A line from the place of each buyer's arrival to the place of the purchase: crossings are overtakings. */
export function queuePicture({ steps }: Scene): SVGTemplateResult {
  const places = orderOf(tracesOf([...steps].sort((a, b) => a.at - b.at)));
  const step = (WIDTH - 2 * EDGE) / Math.max(1, places.length - 1);
  return svg`
    ${places.map((bought, came) => {
      const isOvertaken = places.some(
        (other, index) => (index > came && other < bought) || (index < came && other > bought),
      );
      const [from, to] = [EDGE + came * step, EDGE + bought * step];
      return svg`<line class=${isOvertaken ? 'harm-line' : 'line'} x1=${from} y1=${TOP} x2=${to} y2=${BOTTOM} />
        <circle class="dot" cx=${from} cy=${TOP} r="4" />
        ${
          isOvertaken
            ? svg`<rect class="harm" x=${to - 4} y=${BOTTOM - 4} width="8" height="8" />`
            : svg`<circle class="good" cx=${to} cy=${BOTTOM} r="4" />`
        }`;
    })}
  `;
}
