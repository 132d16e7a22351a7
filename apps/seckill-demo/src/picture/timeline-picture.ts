import type { Step } from '../arena/step.js';
import type { Language } from '../arena/texts.js';
import type { Palette } from '../page/canvas.js';
import { drawTimeline } from '../page/timeline/draw.js';
import { layoutTimeline } from '../page/timeline/layout.js';
import { TimeScale } from '../page/timeline/time-scale.js';
import { timelineOf } from '../page/timeline/timeline.js';
import { outcomeWords, SIGNS, toneOf } from '../page/words.js';
import { timelineWords } from '../page/words/timeline-words.js';
import { SvgContext } from './svg-context.js';
import { escaped, paletteOf, svgOf, widthOf } from './svg.js';
import type { Theme } from './svg.js';

const WIDTH = 640;
const PAD = 18;
const GAP = 14;
const HEAD = 44;

const STRATEGIES = ['lua-release', 'redis-lock'] as const;

const TITLES: Readonly<Record<Language, Readonly<Record<(typeof STRATEGIES)[number], string>>>> = {
  en: {
    'lua-release': 'The work takes longer than the lease',
    'redis-lock': 'The same work, with this library',
  },
  zh: { 'lua-release': '业务耗时超过租期', 'redis-lock': '同样的业务，用本库加锁' },
};

/** The holders of two of the locks when their work took longer than the lease. */
export function timelinePicture(run: readonly Step[], language: Language, theme: Theme): string {
  const ink = paletteOf(theme);
  let top = 0;
  const panels = STRATEGIES.map((strategy) => {
    const panel = panelOf(run, strategy, language, ink);
    const body = `<g transform="translate(0 ${top})">${panel.body}</g>`;
    top += panel.height + GAP;
    return { body, title: panel.title };
  });
  return svgOf({
    width: WIDTH,
    height: top - GAP,
    title: panels.map(({ title }) => title).join(' '),
    style: `text{font-family:${ink.font}}`,
    body: panels.map(({ body }) => body).join('\n'),
  });
}

function panelOf(
  run: readonly Step[],
  strategy: (typeof STRATEGIES)[number],
  language: Language,
  ink: Palette,
): { readonly body: string; readonly height: number; readonly title: string } {
  const steps = run.filter((step) => 'cell' in step && step.cell === `fault/${strategy}/slow-work`);
  const ended = steps.find((step) => step.kind === 'cell-ended');
  if (ended === undefined) throw new Error(`the run has no fault of ${strategy}`);
  const tone = toneOf(ended.outcome);
  const verdict = `${SIGNS[tone]} ${outcomeWords[language][ended.outcome]}`;
  const { drawn, height, label } = timelineIn(steps, { id: strategy, language, ink });
  const [title, full] = [TITLES[language][strategy], HEAD + height + PAD];
  const harm = tone === 'harm';
  const body =
    `<rect x="1" y="1" width="${WIDTH - 2}" height="${full - 2}" rx="12" fill="${ink.panel}" ` +
    `stroke="${harm ? ink.harm : ink.line}" stroke-width="${harm ? 2 : 1}"/>` +
    `<text x="${PAD}" y="30" fill="${ink.text}" font-size="16" font-weight="650">${escaped(title)} ` +
    `<tspan fill="${ink.muted}" font-size="12" font-weight="400">${strategy}</tspan></text>` +
    `<text x="${WIDTH - PAD}" y="30" fill="${harm ? ink.harm : ink.accent}" font-size="16" ` +
    `font-weight="650" text-anchor="end">${escaped(verdict)}</text>` +
    `<g transform="translate(${PAD} ${HEAD})">${drawn}</g>`;
  return { body, height: full, title: `${title} (${strategy}): ${verdict}. ${label}` };
}

/** Drawn as on the page. */
function timelineIn(
  steps: readonly Step[],
  {
    id,
    language,
    ink,
  }: { readonly id: string; readonly language: Language; readonly ink: Palette },
): { readonly drawn: string; readonly height: number; readonly label: string } {
  const words = timelineWords[language];
  const timeline = timelineOf(steps);
  const scale = TimeScale.of(timeline);
  const width = WIDTH - 2 * PAD;
  const layout = layoutTimeline(timeline, {
    width,
    scale,
    wordOf: ({ kind }) => words.marks[kind],
    widthOf: (text) => widthOf(text, 12, true),
  });
  const context = new SvgContext(id);
  const surface = {
    context: context as unknown as CanvasRenderingContext2D,
    ...{ width, height: layout.height, ink },
  };
  const { from: origin, to: now, lanes, bars, overlaps } = timeline;
  drawTimeline(surface, { timeline, layout, scale, words, numbered: lanes.length, now, origin });
  const label = words.picture(bars.length, overlaps.length, lanes.length);
  return { drawn: context.toString(), height: layout.height, label };
}
