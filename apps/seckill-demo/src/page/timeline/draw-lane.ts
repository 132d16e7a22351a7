import { hatch } from '../canvas.js';
import type { Surface } from '../canvas.js';
import type { Crowd } from './crowds.js';
import type { Gap } from './gaps.js';
import { CROWD_HEIGHT } from './layout.js';
import type { LaneBox } from './layout.js';
import { line, spanBox } from './picture.js';
import type { Picture } from './picture.js';
import type { Bar } from './bar.js';

/** A thinner bar has no word in it. */
const LEGIBLE = 14;

/** The events of one process. */
export function drawLane(surface: Surface, picture: Picture, lane: LaneBox): void {
  const { context, width, ink } = surface;
  const { timeline, scale } = picture;
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.strokeRect(0.5, lane.body - 0.5, width - 1, lane.bodyHeight + 1);
  const isOwn = (other: { readonly process: number }): boolean => other.process === lane.process;
  for (const wait of timeline.waits.filter(isOwn)) {
    drawWait(surface, picture, wait, lane.body + (wait.row + 0.5) * lane.rowHeight);
  }
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
  for (const crowd of timeline.crowds.filter(isOwn)) drawCrowd(surface, picture, lane, crowd);
  for (const { at } of timeline.renewals.filter(isOwn)) {
    const x = scale.shareOf(at) * width;
    line(surface, x, lane.body - 5, lane.body + lane.bodyHeight + 5, ink.text);
  }
}

/** It lies over the bars: holders did nothing meanwhile. */
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
  wait: { readonly from: number; readonly to: number },
  y: number,
): void {
  const { context, ink } = surface;
  const { x, width } = spanBox(surface, scale, wait);
  context.strokeStyle = ink.muted;
  context.lineWidth = 1.5;
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + width, y);
  context.stroke();
  context.setLineDash([]);
}

/** One line for all of them, below the bars, with their number at its end. */
function drawCrowd(surface: Surface, picture: Picture, lane: LaneBox, crowd: Crowd): void {
  const y = lane.below - CROWD_HEIGHT / 2;
  drawWait(surface, picture, crowd, y);
  const box = { ...spanBox(surface, picture.scale, crowd), y: y - 8, height: 16 };
  const { muted: colour, panel: ground } = surface.ink;
  inside(surface, picture.words.crowd(crowd.most), box, { colour, ground, isAtEnd: true });
}

/** Solid while it may do harm, hatched after its lease, pale after its write. */
function drawBar(surface: Surface, picture: Picture, lane: LaneBox, bar: Bar): void {
  const { context, ink } = surface;
  const { scale, timeline } = picture;
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
  const isRedAllAlong = timeline.overlaps.some(
    ({ from, to }) => bar.mayWrite && from <= bar.from && to >= bar.harmlessAt - 1,
  );
  if (!isRedAllAlong) {
    fill(bar.from, Math.min(bar.harmlessAt, bar.leaseOverAt ?? bar.to), ink.accent);
  }
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
  const { buyer, isOrder, answer } = bar;
  const outcome = answer && words.answer(answer);
  const word = isOrder ? words.bar(words.buyer(buyer), outcome) : (outcome ?? '');
  const y = lane.body + bar.row * lane.rowHeight;
  const box = { ...spanBox(surface, scale, bar), y, height: lane.rowHeight };
  inside(surface, word, box, {
    colour: surface.ink.text,
    ground: surface.ink.panel,
  });
}

/** A word in a box with its own background; nothing if there is no room. */
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
