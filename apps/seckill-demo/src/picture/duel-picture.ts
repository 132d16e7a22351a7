import type { Step } from '../arena/step.js';
import type { Language } from '../arena/texts.js';
import type { Palette } from '../page/canvas.js';
import { FLIGHT_MS, laneOf, slownessOf } from '../page/duel/lane.js';
import type { Lane } from '../page/duel/lane.js';
import { layoutOf } from '../page/duel/layout.js';
import type { Box, Layout } from '../page/duel/layout.js';
import { duelWords } from '../page/words/duel-words.js';
import type { DuelWords } from '../page/words/duel-words.js';
import { countsOf, durationOf, flightsOf, shareOf, TIMES, verdictAt } from './duel-motion.js';
import type { Share } from './duel-motion.js';
import { escaped, fixed, paletteOf, svgOf } from './svg.js';
import type { Theme } from './svg.js';

const WIDTH = 720;
const HEIGHT = 340;
const GAP = 16;
const PAD = 18;
const PANEL = (WIDTH - GAP) / 2;
const BOXES = { top: 104, height: 176 };
const DIGITS = 56;

const STRATEGIES = ['naive', 'redis-lock'] as const;

interface Side {
  readonly id: 'a' | 'b';
  readonly strategy: (typeof STRATEGIES)[number];
  readonly lane: Lane;
  readonly stock: number;
  readonly buyers: number;
  readonly words: DuelWords;
  readonly share: Share;
}

/** The duel of the run: it moves three times, and stops at its end. */
export function duelPicture(run: readonly Step[], language: Language, theme: Theme): string {
  const began = run.find((step) => step.kind === 'run-began');
  if (began === undefined) throw new Error('the run has no beginning');
  const words = duelWords[language];
  const { stock, buyers } = began;
  const lanes = STRATEGIES.map((strategy) =>
    laneOf(run.filter((step) => 'cell' in step && step.cell === `duel/${strategy}`)),
  );
  const durationMs = durationOf(lanes);
  const common = { stock, buyers, words, share: shareOf(durationMs) };
  const sides = lanes.map((lane, index): Side => {
    const id = index === 0 ? 'a' : 'b';
    return { id, strategy: STRATEGIES[index] ?? 'naive', lane, ...common };
  });
  const layout = layoutOf(PANEL - 2 * PAD, BOXES.height, buyers);
  const parts = sides.map((side) => sideOf(side, layout));
  const panels = parts.map(
    ({ body }, index) => `<g transform="translate(${index * (PANEL + GAP)})">${body}</g>`,
  );
  const moves = parts.map(({ moves: own }) => own).join('');
  return svgOf({
    width: WIDTH,
    height: HEIGHT,
    title: sides.map(titleOf).join(' '),
    style: styleOf(paletteOf(theme), radiusIn(layout), { moves, durationMs }),
    body: panels.join('\n'),
  });
}

/** A dot does not grow on its way. */
function radiusIn({ radii }: Layout): number {
  return Math.min(radii.waiting, radii.away);
}

function titleOf({ strategy, words, lane, stock }: Side): string {
  const sold = lane.answers.filter(({ isSold }) => isSold).length;
  return words.picture(words.lanes[strategy].name, sold, stock, lane.answers.length - sold);
}

function styleOf(
  ink: Palette,
  radius: number,
  { moves, durationMs }: { readonly moves: string; readonly durationMs: number },
): string {
  const colours: Record<string, string> = {
    ...{ MUTED: ink.muted, LINE: ink.line, PANEL: ink.panel, ACCENT: ink.accent, HARM: ink.harm },
  };
  const dot = `fill:none;stroke-width:${fixed(2 * radius)};stroke-linecap:round`;
  return `
text{font-family:${ink.font};fill:${ink.text}}
.p{fill:${ink.panel};stroke:${ink.line}}.p.x{stroke:${ink.harm};stroke-width:2}
.h{font-size:19px;font-weight:650}.q{font-size:12px;font-weight:400;fill:${ink.muted}}.v{font-size:19px;font-weight:650}
.n{font-size:46px;font-weight:700}.of{font-size:24px;font-weight:400;fill:${ink.muted}}
.e{fill:${ink.harm}}.r{fill:${ink.accent}}.bx{fill:${ink.panel};stroke:${ink.line}}
.bx.x{fill:${ink.harmSoft};stroke:${ink.harm};stroke-width:2}
.s{${dot};stroke:${ink.accent}}.o{${dot};stroke:${ink.harm};stroke-linecap:square}
.y{fill:none;stroke:${ink.muted};stroke-width:1}.y>*{r:${fixed(radius - 0.5)}px}
@media(max-width:480px){.q{display:none}.h,.v{font-size:26px}}
@media(prefers-reduced-motion:no-preference){
.m,.m>*{animation:0s cubic-bezier(.2,.7,.3,1) ${TIMES};animation-duration:${durationMs / 1_000}s}
.k{animation-timing-function:step-end}.x{animation-timing-function:step-start}
${moves.replace(/[A-Z]{4,}/g, (name) => colours[name] ?? name)}}
`;
}

interface Part {
  readonly body: string;
  readonly moves: string;
}

function sideOf(side: Side, layout: Layout): Part {
  const { strategy, words, lane, stock, id, share } = side;
  const { name, what } = words.lanes[strategy];
  const isHarm = lane.answers.filter(({ isSold }) => isSold).length > stock;
  const pace = words.took(Math.round(lane.spanMs), slownessOf(lane));
  const [counter, dots, verdict] = [counterOf(side), dotsOf(side, layout), verdictOf(side)];
  const over = countsOf(lane).find(({ sold }) => sold > stock)?.at ?? 0;
  const from = `@keyframes ${id}p{0%,${share(over)}{fill:PANEL;stroke:LINE;stroke-width:1}}`;
  const border = isHarm ? ` x m" style="animation-name:${id}p` : '';
  const body =
    `<rect class="p${border}" x="1" y="1" width="${PANEL - 2}" height="${HEIGHT - 2}" rx="12"/>` +
    `<g transform="translate(${PAD})">` +
    `<text class="h" y="34">${escaped(name)} <tspan class="q">${what}</tspan></text>` +
    `<text class="q m" style="animation-name:${id}v" x="${PANEL - 2 * PAD}" y="58" text-anchor="end">${escaped(pace)}</text>` +
    counter.body +
    `<g transform="translate(0 ${BOXES.top})">${boxesOf(side, layout, isHarm)}${dots.body}</g>` +
    `${verdict.body}</g>`;
  const moves = counter.moves + dots.moves + verdict.moves + (isHarm ? from : '');
  return { body, moves };
}

function boxesOf({ words, stock, id }: Side, layout: Layout, isHarm: boolean): string {
  const box = ({ x, y, width, height }: Box, name: string, isBad = false): string => {
    const bad = isBad ? ` x m" style="animation-name:${id}p` : '';
    const at = `x="${fixed(x + 0.5)}" y="${fixed(y + 0.5)}" width="${fixed(width - 1)}"`;
    return (
      `<rect class="bx${bad}" ${at} height="${fixed(height - 1)}" rx="6"/>` + named(x, y, name)
    );
  };
  const named = (x: number, y: number, name: string): string =>
    `<text class="q" x="${fixed(x)}" y="${fixed(y - 7)}">${escaped(name)}</text>`;
  return (
    named(layout.crowd.x, layout.crowd.y, words.crowd) +
    box(layout.stock, words.stock(stock)) +
    box(layout.beyond, words.beyond, isHarm) +
    box(layout.away, words.away)
  );
}

function dotsOf({ id, lane, stock, buyers, share }: Side, layout: Layout): Part {
  const flights = flightsOf(layout, lane, { stock, buyers });
  const rules: string[] = [];
  const groups = flights.map(({ landsAt, dots }, index) => {
    const [leaves, turns] = [share(landsAt - FLIGHT_MS), share(landsAt - FLIGHT_MS / 2)];
    const kinds = [
      { kind: 'sold', letter: 's', first: 'stroke:MUTED', last: 'stroke:ACCENT', turn: '' },
      {
        kind: 'oversold',
        letter: 'o',
        first: 'stroke:MUTED;stroke-linecap:round',
        last: 'stroke:HARM;stroke-linecap:square',
        turn: '',
      },
      {
        kind: 'away',
        letter: 'y',
        first: 'fill:MUTED',
        last: 'fill:none',
        turn: `${turns}{translate:var(--d)}`,
      },
    ];
    return kinds.flatMap(({ kind, letter, first, last, turn }) => {
      const own = dots.filter(({ end }) => end.kind === kind);
      if (own.length === 0) return [];
      const name = `${id}${letter}${index}`;
      rules.push(
        `.${name}>*{animation-name:${name}}@keyframes ${name}{` +
          `0%,${leaves}{translate:var(--f);${first}}${turn}${share(landsAt)}{translate:none;${last}}}`,
      );
      const shapes = own.map(({ end: { x, y }, from, door }) =>
        letter === 'y'
          ? `<circle cx="${fixed(x)}" cy="${fixed(y)}" style="--f:${from};--d:${door}"/>`
          : `<path d="M${fixed(x)} ${fixed(y)}h0" style="--f:${from}"/>`,
      );
      return `<g class="${letter} m ${name}">${shapes.join('')}</g>`;
    });
  });
  return { body: groups.flat().join('\n'), moves: rules.join('\n') };
}

/**
 * A strip of numbers behind a window with the height of one number. The window is as wide as the
 * lane: some fonts have wide digits.
 */
function counterOf({ id, lane, stock, share }: Side): Part {
  const counts = countsOf(lane);
  const last = counts.length - 1;
  const numbers = counts.map(
    ({ sold }, index) =>
      `<text class="n${sold > stock ? ' e' : ''}" y="${index * DIGITS + 44}">${sold}` +
      `<tspan class="of" dx="8">/ ${stock}</tspan></text>`,
  );
  const stops = counts.map(({ at }, index) => `${share(at)}{translate:0 ${-index * DIGITS}px}`);
  return {
    body:
      `<svg y="42" width="${PANEL - 2 * PAD}" height="${DIGITS - 4}"><g class="m k" ` +
      `style="translate:0 ${-last * DIGITS}px;animation-name:${id}k">${numbers.join('')}</g></svg>`,
    moves: `@keyframes ${id}k{${stops.join('')}}`,
  };
}

function verdictOf({ id, lane, stock, words, share }: Side): Part {
  const sold = lane.answers.filter(({ isSold }) => isSold).length;
  const away = lane.answers.length - sold;
  const verdict =
    sold > stock
      ? `<tspan class="e">✕ ${escaped(words.oversold(sold - stock))}</tspan>`
      : `<tspan class="r">✓ ${escaped(words.right)}</tspan><tspan class="q" dx="10">${escaped(words.turnedAway(away))}</tspan>`;
  return {
    body: `<text class="v m" style="animation-name:${id}v" y="${HEIGHT - 22}">${verdict}</text>`,
    moves: `@keyframes ${id}v{0%,${share(verdictAt(lane))}{opacity:0}${share(verdictAt(lane) + 200)}{opacity:1}}`,
  };
}
