import type { Surface } from '../canvas.js';
import type { TimelineWords } from '../words/timeline-words.js';
import type { TimelineLayout } from './layout.js';
import type { TimeScale } from './time-scale.js';
import type { Timeline } from './timeline.js';

/** All data of a drawn timeline. */
export interface Picture {
  readonly timeline: Timeline;
  readonly layout: TimelineLayout;
  readonly scale: TimeScale;
  readonly words: TimelineWords;
  /** The number of lanes at the top whose process has a number; the other processes have been replaced. */
  readonly numbered: number;
  /** Nothing later than this is drawn. */
  readonly now: number;
  /** The axis counts from here. */
  readonly origin: number;
}

/** The least width that is visible. */
export function spanBox(
  { width }: Surface,
  scale: TimeScale,
  { from, to }: { readonly from: number; readonly to: number },
): { readonly x: number; readonly width: number } {
  const x = scale.shareOf(from) * width;
  return { x, width: Math.max(1.5, scale.shareOf(to) * width - x) };
}

export function line(
  { context }: Surface,
  x: number,
  from: number,
  to: number,
  colour: string,
): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, from);
  context.lineTo(x, to);
  context.stroke();
}
