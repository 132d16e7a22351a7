import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Scene } from './scene.js';

const COLUMNS = 9;

/** The attempts of one visitor: let in within the limit, let in beyond it, or sent away. */
export function ticketPicture({ result, isRunning }: Scene): SVGTemplateResult {
  const figures = result?.part === 'ticket' ? result : undefined;
  const limit = figures?.limit ?? 5;
  const letIn = figures?.letIn ?? (isRunning ? limit : 0);
  const all = letIn + (figures?.sentAway ?? 0);
  return svg`${Array.from({ length: Math.min(all, 4 * COLUMNS) }, (_, attempt) => {
    const [x, y] = [22 + (attempt % COLUMNS) * 27, 24 + Math.floor(attempt / COLUMNS) * 28];
    if (attempt >= letIn) return svg`<circle class="hollow" cx=${x} cy=${y} r="9" />`;
    return attempt < limit
      ? svg`<circle class="good" cx=${x} cy=${y} r="9" /><text class="sign" x=${x} y=${y + 4}>✓</text>`
      : svg`<rect class="harm" x=${x - 9} y=${y - 9} width="18" height="18" /><text class="sign" x=${x} y=${y + 4}>✕</text>`;
  })}`;
}
