import type { Step } from '../arena/step.js';
import { duelPicture } from './duel-picture.js';
import { matrixPicture } from './matrix-picture.js';
import { THEMES } from './svg.js';
import { timelinePicture } from './timeline-picture.js';

/** Every picture of the documents by the name of its file. */
export function picturesOf(run: readonly Step[]): Map<string, string> {
  const pictures = new Map<string, string>();
  for (const language of ['en', 'zh'] as const) {
    for (const theme of THEMES) {
      pictures.set(`duel.${language}.${theme}.svg`, duelPicture(run, language, theme));
      pictures.set(`holders.${language}.${theme}.svg`, timelinePicture(run, language, theme));
      pictures.set(`matrix.${language}.${theme}.svg`, matrixPicture(run, language, theme));
    }
  }
  return pictures;
}
