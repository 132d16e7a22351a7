import { svg } from 'lit';
import { isAnswer, WIDTH } from './scene.js';
import type { Picture } from './scene.js';

const MOST = 8;

/** A box for each process. Filled: the process ran the job; more than one filled box is a fault. */
export const reportPicture: Picture = {
  isMovedBy: isAnswer,
  draw: (scene) => {
    const answers = scene.steps.filter(isAnswer);
    const processes = Math.min(MOST, scene.processes);
    const first = answers.findIndex(({ answer }) => answer === 'sold');
    const width = Math.min(70, 240 / processes - 8);
    const left = (WIDTH - processes * (width + 8) + 8) / 2;
    return svg`${Array.from({ length: processes }, (_, place) => {
      const x = left + place * (width + 8);
      const hasRun = answers[place]?.answer === 'sold';
      const kind = !hasRun ? 'hollow' : place === first ? 'good' : 'harm';
      const sign = hasRun ? (place === first ? '✓' : '✕') : answers[place] ? '–' : '';
      return svg`<rect class=${kind} x=${x} y="30" width=${width} height="60" rx="6" />
        <text class=${hasRun ? 'sign' : 'figure'} x=${x + width / 2} y="65">${sign}</text>`;
    })}`;
  },
};
