import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { Scene } from './scene.js';

const MOST = 8;

/** A box for each process; those that ran the job are filled, and more than one is too many. */
export function reportPicture({ result, isRunning }: Scene): SVGTemplateResult {
  const figures = result?.part === 'report' ? result : undefined;
  const processes = Math.min(MOST, figures?.processes ?? 2);
  const runs = figures?.runs ?? (isRunning ? 1 : 0);
  const width = Math.min(70, 240 / processes - 8);
  return svg`${Array.from({ length: processes }, (_, place) => {
    const x = 10 + place * (width + 8);
    const kind = place >= runs ? 'hollow' : place === 0 ? 'good' : 'harm';
    const sign = place >= runs ? '–' : place === 0 ? '✓' : '✕';
    return svg`<rect class=${kind} x=${x} y="30" width=${width} height="60" rx="6" />
      <text class=${kind === 'hollow' ? 'figure' : 'sign'} x=${x + width / 2} y="65">${sign}</text>`;
  })}`;
}
