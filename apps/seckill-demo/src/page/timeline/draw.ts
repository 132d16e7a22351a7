import { hatch } from '../canvas.js';
import type { Surface } from '../canvas.js';
import type { TimelineWords } from '../words/timeline-words.js';
import { FLAG_HEIGHT, NAME_HEIGHT } from './layout.js';
import type { Flag, LaneBox, TimelineLayout } from './layout.js';
import type { TimeScale } from './time-scale.js';
import type { Gap } from './gaps.js';
import type { Mark } from './marks.js';
import type { Bar, Timeline } from './timeline.js';

export interface Picture {
  readonly timeline: Timeline;
  readonly layout: TimelineLayout;
  readonly scale: TimeScale;
  readonly words: TimelineWords;
  /** Nothing later than this is drawn. */
  readonly now: number;
  /** The axis counts from here. */
  readonly origin: number;
}

const TICKS = 6;
/** A thinner bar has no word in it. */
const LEGIBLE = 14;
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
    drawName(surface, picture, lane);
    drawFlags(surface, picture, lane.flags, lane.body + lane.bodyHeight, lane.body);
  }
  drawFlags(surface, picture, layout.lockFlags, NAME_HEIGHT, layout.axis);
  drawOverlapWord(surface, picture);
  if (now < picture.timeline.to)
    line(surface, nowX, NAME_HEIGHT - 6, layout.axis, surface.ink.text);
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

function drawLane(surface: Surface, picture: Picture, lane: LaneBox): void {
  const { context, width, ink } = surface;
  const { timeline, scale } = picture;
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.strokeRect(0.5, lane.body - 0.5, width - 1, lane.bodyHeight + 1);
  const isOwn = (other: { readonly process: number }): boolean => other.process === lane.process;
  for (const wait of timeline.waits.filter(isOwn)) drawWait(surface, picture, lane, wait);
  for (const bar of timeline.bars.filter(isOwn)) drawBar(surface, picture, lane, bar);
  for (const suspect of timeline.suspects.filter(isOwn)) {
    hatch(
      surface,
      { ...spanBox(surface, scale, suspect), y: lane.body, height: lane.bodyHeight },
      ink.panel,
    );
  }
  for (const gap of timeline.gaps.filter(isOwn)) drawGap(surface, picture, lane, gap);
  for (const bar of timeline.bars.filter(isOwn)) drawBarWord(surface, picture, lane, bar);
  for (const { at } of timeline.renewals.filter(isOwn)) {
    const x = scale.shareOf(at) * width;
    line(surface, x, lane.body - 5, lane.body + lane.bodyHeight + 5, ink.text);
  }
}

/** It lies over the bars: whoever was inside did nothing meanwhile. */
function drawGap(surface: Surface, { scale, words }: Picture, lane: LaneBox, gap: Gap): void {
  const { context, ink } = surface;
  const box = { ...spanBox(surface, scale, gap), y: lane.body, height: lane.bodyHeight };
  context.globalAlpha = 0.8;
  context.fillStyle = ink.line;
  context.fillRect(box.x, box.y, box.width, box.height);
  context.globalAlpha = 1;
  hatch(surface, box, ink.muted, 12);
  inside(surface, words.gaps[gap.what], box, { colour: ink.text, ground: ink.line, isAtEnd: true });
}

function drawWait(
  surface: Surface,
  { scale }: Picture,
  lane: LaneBox,
  wait: { readonly from: number; readonly to: number; readonly row: number },
): void {
  const { context, ink } = surface;
  const { x, width } = spanBox(surface, scale, wait);
  const y = lane.body + (wait.row + 0.5) * lane.rowHeight;
  context.strokeStyle = ink.muted;
  context.lineWidth = 1.5;
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + width, y);
  context.stroke();
  context.setLineDash([]);
}

/** Solid while it may do harm, hatched since its lease is over, pale once its write is done. */
function drawBar(surface: Surface, picture: Picture, lane: LaneBox, bar: Bar): void {
  const { context, ink } = surface;
  const { scale, timeline, words } = picture;
  const pad = Math.min(3, lane.rowHeight * 0.12);
  const place = {
    y: lane.body + bar.row * lane.rowHeight + pad,
    height: Math.max(0.8, lane.rowHeight - 2 * pad),
  };
  const fill = (from: number, to: number, colour: string): void => {
    if (to <= from) return;
    const { x, width } = spanBox(surface, scale, { from, to });
    context.fillStyle = colour;
    context.fillRect(x, place.y, width, place.height);
  };
  fill(bar.from, bar.to, ink.accentSoft);
  fill(bar.from, Math.min(bar.harmlessAt, bar.leaseOverAt ?? bar.to), ink.accent);
  if (bar.leaseOverAt !== undefined) {
    hatch(
      surface,
      { ...spanBox(surface, scale, { from: bar.leaseOverAt, to: bar.to }), ...place },
      ink.accent,
      5,
    );
  }
  if (bar.mayWrite) {
    for (const { from, to } of timeline.overlaps) {
      fill(Math.max(from, bar.from), Math.min(to, bar.harmlessAt), ink.harm);
    }
  }
  if (place.height < LEGIBLE) return;
  const { x, width } = spanBox(surface, scale, bar);
  context.strokeStyle = ink.accent;
  context.strokeRect(x + 0.5, place.y + 0.5, Math.max(1, width - 1), place.height - 1);
}

function drawBarWord(surface: Surface, { scale, words }: Picture, lane: LaneBox, bar: Bar): void {
  if (lane.rowHeight < LEGIBLE) return;
  const answer = bar.answer === undefined ? '' : `: ${words.answers[bar.answer] ?? bar.answer}`;
  const y = lane.body + bar.row * lane.rowHeight;
  const box = { ...spanBox(surface, scale, bar), y, height: lane.rowHeight };
  inside(surface, `${bar.buyer}${answer}`, box, {
    colour: surface.ink.text,
    ground: surface.ink.panel,
  });
}

/** A word in a box, on a ground of its own; none if there is no room. */
function inside(
  { context, ink }: Surface,
  text: string,
  box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  look: { readonly colour: string; readonly ground: string; readonly isAtEnd?: boolean },
): void {
  context.font = `12px ${ink.font}`;
  const { width } = context.measureText(text);
  if (width + 12 > box.width) return;
  const x = look.isAtEnd === true ? box.x + box.width - width - 10 : box.x + 4;
  context.fillStyle = look.ground;
  context.fillRect(x, box.y + box.height / 2 - 8, width + 6, 16);
  context.fillStyle = look.colour;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.fillText(text, x + 3, box.y + box.height / 2 + 0.5);
}

function drawName({ context, ink }: Surface, { layout, words }: Picture, lane: LaneBox): void {
  context.font = `600 12px ${ink.font}`;
  context.fillStyle = ink.text;
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  context.fillText(words.process(layout.lanes.indexOf(lane) + 1, lane.process), 0, lane.body - 8);
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
    const share = tick / TICKS;
    const x = share * width;
    line(surface, x, layout.axis, layout.axis + 5, ink.muted);
    context.textAlign = tick === 0 ? 'left' : tick === TICKS ? 'right' : 'center';
    const isCrowded = width < 480 && tick % 2 === 1;
    if (!isCrowded) context.fillText(words.time(scale.timeOf(share) - origin), x, layout.axis + 18);
  }
  context.textAlign = 'center';
  for (const pause of scale.pauses) {
    if (width * 0.06 > 24)
      context.fillText(`≈ ${words.time(pause.ms)}`, pause.share * width, layout.axis + 34);
  }
}

/** At least so wide that it can be seen. */
function spanBox(
  { width }: Surface,
  scale: TimeScale,
  { from, to }: { readonly from: number; readonly to: number },
): { readonly x: number; readonly width: number } {
  const x = scale.shareOf(from) * width;
  return { x, width: Math.max(1.5, scale.shareOf(to) * width - x) };
}

function line({ context }: Surface, x: number, from: number, to: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, from);
  context.lineTo(x, to);
  context.stroke();
}
