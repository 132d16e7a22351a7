import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MEASURES } from './measures.mjs';

/** The trials of the chart. In the first one, others are faster. */
const PANELS = {
  'A same core': 'One caller, one free key',
  B: '64 callers, 64 free keys',
  'C 100': '100 callers of one process, one key',
  'D 1 ms': '4 processes × 25 callers, one key, 1 ms of work',
  'G 1 process': 'Flash sale, 1 process',
  'G 4 processes': 'Flash sale, 4 processes',
};

const THEMES = {
  light: { ink: '#1f2328', faint: '#59636e', ours: '#0969da', other: '#afb8c1' },
  dark: { ink: '#f0f6fc', faint: '#9198a1', ours: '#4493f8', other: '#656c76' },
};

const WIDTH = 840;
const COLUMN = WIDTH / 2;
const NAMES = 150;
const BARS = COLUMN - NAMES - 80;
const ROW = 18;
const HEAD = 34;

/**
 * Writes the headlines of a run as bars: `bench.light.svg` and `bench.dark.svg`.
 *
 * @param {string} folder
 * @param {any[]} comparisons
 * @param {string} run the machine and the method, in one line
 */
export async function writeCharts(folder, comparisons, run) {
  await mkdir(folder, { recursive: true });
  for (const [theme, colours] of Object.entries(THEMES))
    await writeFile(join(folder, `bench.${theme}.svg`), chart(comparisons, run, colours));
}

function chart(comparisons, run, colours) {
  const panels = Object.entries(PANELS).flatMap(([id, title]) => {
    const comparison = comparisons.find(({ trial }) => trial.id === id);
    return comparison ? [{ title, ...barsOf(comparison) }] : [];
  });
  const heights = panels.map(({ bars }) => HEAD + bars.length * ROW + 14);
  let top = 8;
  const drawn = panels.map((panel, index) => {
    const shapes = draw(panel, (index % 2) * COLUMN, top, colours);
    if (index % 2 === 1 || index === panels.length - 1)
      top += Math.max(heights[index], heights[index - (index % 2)]);
    return shapes;
  });
  const said = panels.map(({ title, bars }) => `${title}: ${bars.map(spoken).join(', ')}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top + 24}" font-family="system-ui, sans-serif" font-size="12" role="img">`,
    `<title>${escape(`${said.join('. ')}. ${run}`)}</title>`,
    ...drawn,
    text(8, top + 12, run, colours.faint),
    '</svg>\n',
  ].join('\n');
}

function barsOf({ trial: { headline }, rows }) {
  const bars = rows
    .filter(({ samples }) => samples.length > 0)
    .map(({ locker, label, figures }) => ({ locker, label, value: figures[headline].median }))
    .sort((a, b) => b.value - a.value);
  return { unit: MEASURES[headline].title, bars };
}

function draw({ title, unit, bars }, left, top, colours) {
  const longest = Math.max(...bars.map(({ value }) => value)) || 1;
  const rows = bars.flatMap(({ locker, label, value }, index) => {
    const y = top + HEAD + index * ROW;
    const width = Math.max(1, (BARS * value) / longest).toFixed(1);
    const isOurs = locker === 'ours';
    const ink = isOurs ? colours.ink : colours.faint;
    return [
      text(left + NAMES - 6, y + 10, label, ink, `text-anchor="end"${bold(isOurs)}`),
      `<rect x="${left + NAMES}" y="${y}" width="${width}" height="13" rx="2" fill="${isOurs ? colours.ours : colours.other}"/>`,
      text(left + NAMES + Number(width) + 5, y + 10, figure(value), ink, bold(isOurs).trim()),
    ];
  });
  return [
    text(left + 8, top + 20, `${title}, ${unit}`, colours.ink, 'font-weight="600"'),
    ...rows,
  ].join('\n');
}

const bold = (isOurs) => (isOurs ? ' font-weight="600"' : '');
const figure = (value) => Math.round(value).toLocaleString('en-US');
const spoken = ({ label, value }) => `${label} ${figure(value)}`;
const text = (x, y, words, fill, more = '') =>
  `<text x="${x}" y="${y}" fill="${fill}" ${more}>${escape(words)}</text>`;
const escape = (words) => words.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
