import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Step } from '../../arena/step.js';
import { head } from './scene.js';
import type { Picture } from './scene.js';

const FENCE = 176;

/** Two processes write one price, 99 and then 49. The first one is frozen before its write. */
export const fencePicture: Picture = {
  isMovedBy: (step) => step.kind === 'struck' || step.kind === 'passed',
  draw: ({ steps, withLock }) => {
    const newer = hasWritten('next', steps);
    const late = hasWritten('first', steps) ? 'written' : isRefused(steps) ? 'refused' : undefined;
    const isFrozen = isStill(steps);
    const price = late === 'written' ? '99' : newer ? '49' : '…';
    const [wrong, right] = ['harm', 'good'].map((tone) => `${tone}-frame`);
    return svg`
    <defs>${head('fence-good', 'head')} ${head('fence-harm', 'harm-head')}</defs>
    ${office(14, '1', isFrozen ? 'hollow dashed' : 'hollow')} ${office(74, '2', 'hollow')}
    ${isFrozen ? svg`<text class="tag" x="76" y="37">❚❚</text>` : ''}
    ${withLock ? svg`<path class="line" d="M${FENCE} 8 V112 M${FENCE + 6} 8 V112" />` : ''}
    ${late === undefined ? '' : lateWrite(late)}
    ${
      newer
        ? svg`<path class="line" d="M56 91 H216 V82" marker-end="url(#fence-good)" />
            <text class="tag" x="110" y="86">49</text>`
        : ''
    }
    <rect class=${price === '99' ? wrong : price === '49' ? right : 'hollow'} x="190" y="42" width="60" height="36" rx="6" />
    <text class="big ${price === '99' ? 'harm-text' : ''}" x="220" y="68">${price}</text>`;
  },
};

/** Over the newer price, or up to the fence. */
function lateWrite(fate: 'written' | 'refused'): SVGTemplateResult {
  const isRefused = fate === 'refused';
  const way = isRefused ? `M56 31 H${FENCE - 14}` : 'M56 31 H216 V38';
  return svg`<path class=${isRefused ? 'harm-line dashed' : 'harm-line'} d=${way} marker-end="url(#fence-harm)" />
    <text class="tag harm-text" x="110" y="26">99</text>
    ${isRefused ? svg`<text class="big harm-text" x=${FENCE - 10} y="22">✕</text>` : ''}`;
}

/** Its answer shows less: the process notices the loss only after the write. */
function hasWritten(office: 'first' | 'next', steps: readonly Step[]): boolean {
  return steps.some(
    (step) => step.kind === 'passed' && step.buyer === office && step.point === 'after-write',
  );
}

function isStill(steps: readonly Step[]): boolean {
  const what = (word: string): boolean =>
    steps.some((step) => step.kind === 'struck' && step.what === word);
  return what('frozen') && !what('thawed');
}

function isRefused(steps: readonly Step[]): boolean {
  return steps.some((step) => step.kind === 'struck' && step.what === 'stale-refused');
}

function office(y: number, name: string, look: string): SVGTemplateResult {
  return svg`<rect class=${look} x="12" y=${y} width="44" height="34" rx="6" />
    <text class="tag" x="34" y=${y + 22}>${name}</text>`;
}
