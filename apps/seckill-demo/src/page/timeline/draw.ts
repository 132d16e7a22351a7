import type { Surface } from '../canvas.js';
import { drawLane } from './draw-lane.js';
import { FLAG_HEIGHT, NAME_HEIGHT } from './layout.js';
import type { Flag, LaneBox } from './layout.js';
import type { Mark } from './marks.js';
import { line, spanBox } from './picture.js';
import type { Picture } from './picture.js';

const TICKS = 6;
const HARMLESS: ReadonlyArray<Mark['kind']> = [
  'busy',
  'refused',
  'stale-refused',
  'lease-ended',
  'redis-resumed',
];

export function drawTimeline(surface: Surface, picture: Picture): void {
  const { layout, now, scale } = picture;
  const { context, width, height } = surface;
  const nowX = scale.shareOf(now) * width;
  drawAxis(surface, picture);
  context.save();
  context.beginPath();
  context.rect(0, 0, nowX + 1, height);
  context.clip();
  for (const overlap of picture.timeline.overlaps) drawBand(surface, picture, overlap);
  for (const lane of layout.lanes) drawLane(surface, picture, lane);
  context.restore();
  for (const lane of layout.lanes) {
    drawFlags(surface, picture, lane.flags, lane.below, lane.body);
  }
  drawFlags(surface, picture, layout.lockFlags, NAME_HEIGHT, layout.axis);
  for (const lane of layout.lanes) drawName(surface, picture, lane);
  drawOverlapWord(surface, picture);
  if (now < picture.timeline.to) {
    line(surface, nowX, NAME_HEIGHT - 6, layout.axis, surface.ink.text);
  }
}

function drawBand(
  surface: Surface,
  { layout, scale }: Picture,
  span: { from: number; to: number },
): void {
  const { context, ink } = surface;
  const box = {
    ...spanBox(surface, scale, span),
    y: NAME_HEIGHT,
    height: layout.axis - NAME_HEIGHT,
  };
  context.fillStyle = ink.harmSoft;
  context.fillRect(box.x, box.y, box.width, box.height);
}

/** Over the lines of the flags, so that it is readable. */
function drawName({ context, ink }: Surface, picture: Picture, lane: LaneBox): void {
  const { layout, words, numbered } = picture;
  const number = layout.lanes.indexOf(lane) + 1;
  const name = words.process(number <= numbered ? number : undefined, lane.process);
  context.font = `600 12px ${ink.font}`;
  context.fillStyle = ink.panel;
  context.fillRect(0, lane.body - 20, context.measureText(name).width + 4, 17);
  context.fillStyle = ink.text;
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  context.fillText(name, 0, lane.body - 8);
}

function drawFlags(
  surface: Surface,
  { now }: Picture,
  flags: readonly Flag[],
  top: number,
  to: number,
): void {
  const { context, ink } = surface;
  for (const { mark, text, x, textX, line: number } of flags) {
    if (mark.at > now) continue;
    const y = top + number * FLAG_HEIGHT + 14;
    const colour = HARMLESS.includes(mark.kind) ? ink.text : ink.harm;
    line(surface, x, Math.min(to, y - 10), Math.max(to, y - 10), colour);
    context.font = `600 12px ${ink.font}`;
    context.textAlign = 'left';
    context.textBaseline = 'alphabetic';
    const { width } = context.measureText(text);
    context.fillStyle = ink.panel;
    context.fillRect(textX - 1, y - 11, width + 5, 15);
    context.fillStyle = colour;
    context.fillText(text, textX + 2, y);
  }
}

function drawOverlapWord(
  { context, ink, width }: Surface,
  { timeline, scale, words, now }: Picture,
): void {
  const overlap = timeline.overlaps.find(({ from }) => from <= now);
  if (overlap === undefined) return;
  const holders = Math.max(...timeline.overlaps.map((other) => other.holders));
  const text = `▼ ${words.overlap(holders)}`;
  context.font = `700 13px ${ink.font}`;
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  context.fillStyle = ink.harm;
  const x = scale.shareOf(overlap.from) * width;
  context.fillText(text, Math.max(0, Math.min(x, width - context.measureText(text).width)), 14);
}

function drawAxis(surface: Surface, { layout, scale, origin, words }: Picture): void {
  const { context, ink, width } = surface;
  line(surface, 0, layout.axis, layout.axis, ink.line);
  context.fillStyle = ink.muted;
  context.font = `11px ${ink.font}`;
  context.textBaseline = 'alphabetic';
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const x = (tick / TICKS) * width;
    line(surface, x, layout.axis, layout.axis + 5, ink.muted);
  }
  const timeAt = (share: number): string => words.time(scale.timeOf(share) - origin);
  for (const { share, text } of labelsOf(width, timeAt)) {
    context.textAlign = share === 0 ? 'left' : share === 1 ? 'right' : 'center';
    context.fillText(text, share * width, layout.axis + 18);
  }
  context.textAlign = 'center';
  for (const { from, to, ms } of scale.pauses) {
    const text = words.pause(ms);
    const isRoomy = (to - from) * width >= context.measureText(text).width;
    if (isRoomy) context.fillText(text, ((from + to) / 2) * width, layout.axis + 34);
  }
}

/** The labels of the axis, from left to right. A label stands at the last of the ticks that share it. */
export function labelsOf(
  width: number,
  timeAt: (share: number) => string,
): Array<{ readonly share: number; readonly text: string }> {
  const ticks = Array.from({ length: TICKS + 1 }, (_, tick) => tick);
  return ticks
    .filter((tick) => width >= 480 || tick % 2 === 0)
    .map((tick) => ({ share: tick / TICKS, text: timeAt(tick / TICKS) }))
    .filter(({ text }, place, all) => text !== all[place + 1]?.text);
}
