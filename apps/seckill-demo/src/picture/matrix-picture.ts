import type { Outcome } from '../arena/cell.js';
import type { Step } from '../arena/step.js';
import { texts } from '../arena/languages.js';
import type { Language } from '../arena/texts.js';
import type { Palette } from '../page/canvas.js';
import { matrixOf } from '../page/matrix/model.js';
import type { Column, Row } from '../page/matrix/model.js';
import { outcomeWords, SIGNS, toneOf } from '../page/words.js';
import { matrixWords } from '../page/words/matrix-words.js';
import { escaped, paletteOf, svgOf } from './svg.js';
import type { Theme } from './svg.js';

const WIDTH = 880;
const PAD = 16;
const NAME = 128;
const HEAD = 106;
const LINE = 15;
const ROW = 28;

/** Every strategy against the rush and the faults, with the outcomes of the run. */
export function matrixPicture(run: readonly Step[], language: Language, theme: Theme): string {
  const ink = paletteOf(theme);
  const began = run.find((step) => step.kind === 'run-began');
  const { columns, rows } = matrixOf(began?.cells ?? []);
  const outcomes = new Map<string, Outcome>();
  for (const step of run) if (step.kind === 'cell-ended') outcomes.set(step.cell, step.outcome);
  const width = (WIDTH - 2 * PAD - NAME) / columns.length;
  const height = HEAD + rows.length * ROW + PAD - 4;
  const words = matrixWords[language];
  const drawn = rows.map((row, index) => {
    const shown = rowOf(row, { outcomes, language, width, ink });
    return `<g transform="translate(${PAD} ${HEAD + index * ROW})">${shown}</g>`;
  });
  return svgOf({
    width: WIDTH,
    height,
    title: words.title(rows.length),
    style: `text{font-family:${ink.font};font-size:12px;fill:${ink.text}}.m{fill:${ink.muted}}.c{font-size:11px}.h{font-size:16px;font-weight:650}`,
    body:
      `<rect x="1" y="1" width="${WIDTH - 2}" height="${height - 2}" rx="12" fill="${ink.panel}" stroke="${ink.line}"/>` +
      `<text class="h" x="${PAD}" y="32">${escaped(words.title(rows.length))}</text>` +
      columns
        .map((column, index) => headingOf(column, PAD + NAME + index * width, language))
        .join('') +
      drawn.join('\n'),
  });
}

function linesOf(column: Column, language: Language): string[] {
  const heading =
    column.kind === 'rush'
      ? matrixWords[language].processes(column.processes)
      : texts[language].faults[column.fault];
  return heading.split('\n');
}

/** The last line is right above the cells. */
function headingOf(column: Column, x: number, language: Language): string {
  const lines = linesOf(column, language);
  const first = HEAD - 12 - (lines.length - 1) * LINE;
  const spans = lines.map(
    (line, index) => `<tspan x="${x + 4}" y="${first + index * LINE}">${escaped(line)}</tspan>`,
  );
  return `<text class="m">${spans.join('')}</text>`;
}

interface Look {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly language: Language;
  readonly width: number;
  readonly ink: Palette;
}

function rowOf({ strategy, cells }: Row, { outcomes, language, width, ink }: Look): string {
  const shown = cells.map((cell, index) => {
    const outcome = cell && outcomes.get(cell.id);
    if (outcome === undefined) return '';
    const tone = toneOf(outcome);
    const x = NAME + index * width;
    if (tone === 'none') return `<text class="m" x="${x + 12}" y="18">${SIGNS.none}</text>`;
    const [colour, ground] =
      tone === 'harm' ? [ink.harm, ink.harmSoft] : [ink.accent, ink.accentSoft];
    return (
      `<rect x="${x + 2}" y="2" width="${width - 4}" height="${ROW - 4}" rx="5" fill="${ground}"/>` +
      `<text class="c" x="${x + 6}" y="18"><tspan fill="${colour}">${SIGNS[tone]}</tspan> ${escaped(outcomeWords[language][outcome])}</text>`
    );
  });
  return `<text y="18" font-weight="600">${strategy}</text>${shown.join('')}`;
}
