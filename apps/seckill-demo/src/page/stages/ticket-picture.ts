import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { OrderAnswered } from '../../arena/step.js';
import { HEIGHT, isAnswer } from './scene.js';
import type { Picture } from './scene.js';

const LIMIT = 5;

/** A row for each process. An attempt is within the limit, beyond it but let in, or refused. */
export const ticketPicture: Picture = {
  isMovedBy: isAnswer,
  draw: ({ steps }) => {
    const attempts = steps.filter(isAnswer);
    const processes = [...new Set(attempts.map(({ process }) => process))];
    const height = Math.min(40, (HEIGHT - 8) / Math.max(1, processes.length));
    const letIn = attempts.filter(isLetIn);
    return svg`${processes.map((process, row) => {
      const y = 4 + height * (row + 0.5);
      const own = attempts.filter((attempt) => attempt.process === process);
      return svg`${own.map((attempt, column) => {
        const x = 24 + column * 38;
        if (!isLetIn(attempt)) return sentAway(x, y, height);
        return dot(x, y, height, letIn.indexOf(attempt) < LIMIT);
      })}`;
    })}`;
  },
};

function isLetIn({ answer }: OrderAnswered): boolean {
  return answer === 'sold';
}

function dot(x: number, y: number, height: number, isWithin: boolean): SVGTemplateResult {
  const r = radiusIn(height);
  const sign =
    r < 6 ? '' : svg`<text class="sign" x=${x} y=${y + 4}>${isWithin ? '✓' : '✕'}</text>`;
  return isWithin
    ? svg`<circle class="good" cx=${x} cy=${y} r=${r} />${sign}`
    : svg`<rect class="harm" x=${x - r} y=${y - r} width=${2 * r} height=${2 * r} />${sign}`;
}

function sentAway(x: number, y: number, height: number): SVGTemplateResult {
  return svg`<circle class="hollow" cx=${x} cy=${y} r=${radiusIn(height)} />`;
}

function radiusIn(height: number): number {
  return Math.min(10, height / 2 - 1);
}
