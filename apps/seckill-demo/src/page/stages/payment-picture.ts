import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { OrderAnswered, Step } from '../../arena/step.js';
import { isAnswer } from './scene.js';
import type { Picture, Scene } from './scene.js';

const LAMPS = 5;
const COLUMNS = 10;

/** The gateway with its five lamps, and the results of the payments. */
export const paymentPicture: Picture = {
  isMovedBy: (step) => isAnswer(step) || isInside(step),
  draw: ({ result, steps }) => {
    const lit = result?.part === 'payment' ? result.inside : insideAfter(steps);
    const answers = steps.filter(isAnswer);
    const isOverloaded = answers.some(isThrownOut);
    return svg`
      <rect class=${isOverloaded ? 'harm-frame' : 'hollow'} x="8" y="10" width="150" height="36" rx="8" />
      ${Array.from({ length: LAMPS }, (_, lamp) => {
        return svg`<circle class=${lamp < lit ? 'good' : 'hollow'} cx=${30 + lamp * 27} cy="28" r="9" />`;
      })}
      ${answers.map((answer, place) => buyer(answer, place))}`;
  },
};

/** The number of lamps that are on: payments that have come in and not left yet. */
export function insideAfter(steps: Scene['steps']): number {
  const inside = new Set<string>();
  for (const step of steps) {
    if (step.kind === 'passed') inside.add(step.buyer);
    if (step.kind === 'answered') inside.delete(step.buyer);
  }
  return inside.size;
}

function buyer(answer: OrderAnswered, place: number): SVGTemplateResult {
  const [x, y] = [18 + (place % COLUMNS) * 24, 72 + Math.floor(place / COLUMNS) * 26];
  return isThrownOut(answer)
    ? svg`<rect class="harm" x=${x - 8} y=${y - 8} width="16" height="16" /><text class="sign" x=${x} y=${y + 4}>✕</text>`
    : svg`<circle class="good" cx=${x} cy=${y} r="8" /><text class="sign" x=${x} y=${y + 4}>✓</text>`;
}

function isInside(step: Step): boolean {
  return step.kind === 'passed' && step.point === 'at-gateway';
}

function isThrownOut({ answer }: OrderAnswered): boolean {
  return answer !== 'sold';
}
