import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Scene } from './scene.js';

/** Two carts, two products: who has what, and who waits for it. */
export function cartPicture({ result, withLock }: Scene): SVGTemplateResult {
  const isStuck = result?.part === 'cart' && result.stuck > 0;
  const isDone = result !== undefined && !isStuck;
  return svg`
    <defs>
      <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
        <path class="head" d="M0 0 L8 4 L0 8 z" />
      </marker>
      <marker id="harm-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
        <path class="harm-head" d="M0 0 L8 4 L0 8 z" />
      </marker>
    </defs>
    ${box(20, 14, '1')} ${box(20, 74, '2')} ${product(196, 14, 'A')} ${product(196, 74, 'B')}
    ${withLock ? together(isDone) : oneByOne(isStuck)}
  `;
}

/** Each has one, and waits for what the other has. */
function oneByOne(isStuck: boolean): SVGTemplateResult {
  const wait = isStuck ? 'harm-line dashed' : 'line dashed';
  const head = isStuck ? 'url(#harm-head)' : 'url(#head)';
  return svg`
    <line class="line" x1="66" y1="31" x2="192" y2="31" marker-end="url(#head)" />
    <line class="line" x1="66" y1="91" x2="192" y2="91" marker-end="url(#head)" />
    <line class=${wait} x1="66" y1="40" x2="190" y2="82" marker-end=${head} />
    <line class=${wait} x1="66" y1="82" x2="190" y2="40" marker-end=${head} />
    ${isStuck ? svg`<text class="big harm-text" x="128" y="67">✕</text>` : ''}`;
}

/** One takes both, the other one comes after. */
function together(isDone: boolean): SVGTemplateResult {
  return svg`
    <line class="line" x1="66" y1="28" x2="192" y2="28" marker-end="url(#head)" />
    <line class="line" x1="66" y1="36" x2="190" y2="84" marker-end="url(#head)" />
    <path class="line dashed" d="M43 72 V 52" marker-end="url(#head)" />
    ${isDone ? svg`<text class="big good-text" x="128" y="100">✓</text>` : ''}`;
}

function box(x: number, y: number, name: string): SVGTemplateResult {
  return svg`<rect class="hollow" x=${x} y=${y} width="44" height="34" rx="6" />
    <text class="tag" x=${x + 22} y=${y + 22}>${name}</text>`;
}

function product(x: number, y: number, name: string): SVGTemplateResult {
  return svg`<rect class="good-frame" x=${x} y=${y} width="44" height="34" rx="17" />
    <text class="tag" x=${x + 22} y=${y + 22}>${name}</text>`;
}
