import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import { tracesOf } from '../timeline/trace.js';
import { orderOf } from './arrivals.js';
import { WIDTH } from './scene.js';
import type { Picture } from './scene.js';

const TOP = 30;
const BOTTOM = 96;
const EDGE = 12;
/** The number of buyers; their positions are fixed before all have arrived. */
const BUYERS = 20;

/** A line from each buyer's arrival to its purchase. A crossing is an overtaking. */
export const queuePicture: Picture = {
  isMovedBy: (step) =>
    step.kind === 'passed' && (step.point === 'doors' || step.point === 'lock-set'),
  draw: ({ steps }) => {
    const places = orderOf(tracesOf(steps));
    const step = (WIDTH - 2 * EDGE) / (Math.max(BUYERS, places.length) - 1);
    const x = (place: number): number => EDGE + place * step;
    return svg`${places.map(
      (bought, came) =>
        svg`${bought === undefined ? '' : purchase(x(came), x(bought), isOvertaken(places, came))}
          <circle class="dot" cx=${x(came)} cy=${TOP} r="4" />`,
    )}`;
  },
};

function isOvertaken(places: ReadonlyArray<number | undefined>, came: number): boolean {
  const bought = places[came] ?? 0;
  return places.some(
    // Those who still wait buy later.
    (other = Infinity, index) =>
      (index > came && other < bought) || (index < came && other > bought),
  );
}

function purchase(from: number, to: number, isCrossed: boolean): SVGTemplateResult {
  return svg`<line class=${isCrossed ? 'harm-line' : 'line'} x1=${from} y1=${TOP} x2=${to} y2=${BOTTOM} />
    ${
      isCrossed
        ? svg`<rect class="harm" x=${to - 4} y=${BOTTOM - 4} width="8" height="8" />`
        : svg`<circle class="good" cx=${to} cy=${BOTTOM} r="4" />`
    }`;
}
