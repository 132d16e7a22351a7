import { FLIGHT_MS, shownAt } from './lane.js';
import type { Lane, LaneAnswer } from './lane.js';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Spot {
  readonly x: number;
  readonly y: number;
}

/** The positions of a lane's dots. */
export interface Layout {
  readonly crowd: Box;
  readonly stock: Box;
  readonly beyond: Box;
  readonly away: Box;
  /** Dots are as large as their box allows. */
  readonly radii: Readonly<Record<DotKind, number>>;
}

export type DotKind = 'waiting' | 'sold' | 'oversold' | 'away';

export interface Dot extends Spot {
  readonly kind: DotKind;
}

const GAP = 14;
/** The name of each box is above it. */
const NAME = 22;

/** The crowd is on the left, the stock in the middle, the oversold and the sent away on the right. */
export function layoutOf(width: number, height: number, buyers: number): Layout {
  const column = (width - 2 * GAP) / 10;
  const full = height - NAME;
  const half = (full - GAP - NAME) / 2;
  const right = 6.6 * column + 2 * GAP;
  const crowd = { x: 0, y: NAME, width: 3.2 * column, height: full };
  const stock = { x: crowd.width + GAP, y: NAME, width: 3.4 * column, height: full };
  const away = { x: right, y: NAME + half + GAP + NAME, width: width - right, height: half };
  return {
    crowd,
    stock,
    beyond: { x: right, y: NAME, width: width - right, height: half },
    away,
    radii: {
      waiting: radiusIn(crowd, buyers),
      sold: radiusIn(stock, buyers / 3),
      oversold: radiusIn(away, (buyers * 2) / 3),
      away: radiusIn(away, (buyers * 2) / 3),
    },
  };
}

/** Dots that fill a box leave a gap between them. */
function radiusIn(box: Box, count: number): number {
  const pitch = Math.sqrt((box.width * box.height) / Math.max(1, count));
  return Math.min(4, 0.34 * pitch);
}

/** The position of one of `count` dots, which fill a box row by row from the bottom. */
export function spotIn(box: Box, index: number, count: number): Spot {
  const columns = Math.max(1, Math.ceil(Math.sqrt((count * box.width) / box.height)));
  const rows = Math.max(1, Math.ceil(count / columns));
  const column = index % columns;
  const row = Math.floor(index / columns);
  return {
    x: box.x + ((column + 0.5) * box.width) / columns,
    y: box.y + box.height - ((row + 0.5) * box.height) / rows,
  };
}

export interface Crowd {
  readonly buyers: number;
  readonly stock: number;
}

/** All dots at this moment. A buyer without an answer so far waits. */
export function dotsAt(
  layout: Layout,
  lane: Lane,
  crowd: Crowd,
  time: { readonly shownMs: number; readonly slowness: number },
): Dot[] {
  return Array.from({ length: crowd.buyers }, (_, index) => {
    const answer = lane.answers[index];
    // Those in front, next to the stock, go first.
    const start = spotIn(layout.crowd, crowd.buyers - 1 - index, crowd.buyers);
    if (answer === undefined) return { ...start, kind: 'waiting' };
    const left = shownAt(answer, time.slowness) - time.shownMs;
    const flown = Math.min(1, Math.max(0, 1 - left / FLIGHT_MS));
    return flown === 0
      ? { ...start, kind: 'waiting' }
      : flying(layout, answer, crowd, start, flown);
  });
}

function flying(layout: Layout, answer: LaneAnswer, crowd: Crowd, start: Spot, flown: number): Dot {
  const { buyers, stock } = crowd;
  const spare = Math.max(1, buyers - stock);
  if (!answer.isSold) {
    const spot = spotIn(layout.away, answer.place, answer.place < spare ? spare : buyers);
    return { ...bounced(start, layout.stock, spot, flown), kind: flown < 0.5 ? 'waiting' : 'away' };
  }
  if (answer.place < stock) {
    return { ...between(start, spotIn(layout.stock, answer.place, stock), flown), kind: 'sold' };
  }
  const spot = spotIn(layout.beyond, answer.place - stock, spare);
  return { ...between(start, spot, flown), kind: 'oversold' };
}

/** To the door of the stock, and from there to the sent away. */
function bounced(start: Spot, { x, y, height }: Box, spot: Spot, flown: number): Spot {
  const door = { x: x - 6, y: y + height / 2 + (start.y - y - height / 2) * 0.4 };
  return flown < 0.5 ? between(start, door, flown * 2) : between(door, spot, flown * 2 - 1);
}

function between(from: Spot, to: Spot, share: number): Spot {
  const eased = 1 - (1 - share) ** 3;
  return { x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased };
}
