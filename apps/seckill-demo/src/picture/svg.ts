import { paletteFrom } from '../page/canvas.js';
import type { Palette } from '../page/canvas.js';
import { DARK, LIGHT } from '../page/page-html.js';

export const THEMES = ['light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const SANS =
  "system-ui,-apple-system,'Segoe UI',Roboto,'PingFang SC','Microsoft YaHei','Noto Sans CJK SC',sans-serif";

/** The colours of the page. */
export function paletteOf(theme: Theme): Palette {
  const variables = theme === 'light' ? LIGHT : DARK;
  const colour = (name: string): string => {
    const found = new RegExp(`--${name}: (#\\w+);`).exec(variables)?.[1];
    if (found === undefined) throw new Error(`the page has no colour ${name}`);
    return found;
  };
  return paletteFrom(colour, SANS);
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** For readers who do not see the picture. */
  readonly title: string;
  readonly style: string;
  readonly body: string;
}

export function svgOf({ width, height, title, style, body }: Picture): string {
  const size = `viewBox="0 0 ${width} ${fixed(height)}" width="${width}" height="${fixed(height)}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">\n` +
    `<title>${escaped(title)}</title>\n<style>${style}</style>\n${body}\n</svg>\n`
  );
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** One digit after the point: more digits are not visible. */
export function fixed(number: number): string {
  return String(Math.round(number * 10) / 10);
}

/** An estimate, because no font is available: a Chinese character is as wide as it is high. */
export function widthOf(text: string, size: number, isBold = false): number {
  const ems = Array.from(text, (letter) => {
    if (/[\u2e80-\uffef]/.test(letter)) return 1;
    if (/[iljtfrI.,:;·'| ]/.test(letter)) return 0.3;
    return /[mwMW✓✕]/.test(letter) ? 0.88 : 0.58;
  });
  return ems.reduce((sum, em) => sum + em, 0) * size * (isBold ? 1.06 : 1);
}
