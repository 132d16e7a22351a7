import type { Surface } from '../canvas.js';
import type { Box, Dot, Layout } from './layout.js';

/** The height of the text above the boxes. */
export interface BoxNames {
  readonly crowd: string;
  readonly stock: string;
  readonly beyond: string;
  readonly away: string;
}

export function drawLane(
  surface: Surface,
  layout: Layout,
  dots: readonly Dot[],
  names: BoxNames,
): void {
  const isOversold = dots.some(({ kind }) => kind === 'oversold');
  drawBox(surface, layout.stock, names.stock, false);
  drawBox(surface, layout.beyond, names.beyond, isOversold);
  drawBox(surface, layout.away, names.away, false);
  write(surface, layout.crowd, names.crowd, surface.ink.muted);
  for (const dot of dots) drawDot(surface, dot, layout.radii[dot.kind]);
}

function drawBox(surface: Surface, box: Box, name: string, isHarm: boolean): void {
  const { context, ink } = surface;
  context.beginPath();
  context.roundRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1, 6);
  context.fillStyle = isHarm ? ink.harmSoft : ink.panel;
  context.fill();
  context.strokeStyle = isHarm ? ink.harm : ink.line;
  context.lineWidth = isHarm ? 2 : 1;
  context.stroke();
  write(surface, box, name, isHarm ? ink.harm : ink.muted);
}

function write({ context, ink }: Surface, box: Box, name: string, colour: string): void {
  context.fillStyle = colour;
  context.font = `12px ${ink.font}`;
  context.textBaseline = 'alphabetic';
  context.textAlign = 'left';
  context.fillText(name, box.x, box.y - 7, box.width);
}

/** An oversold piece is also a square; a buyer that was sent away is hollow. */
function drawDot({ context, ink }: Surface, { x, y, kind }: Dot, radius: number): void {
  context.beginPath();
  if (kind === 'oversold') {
    context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    context.fillStyle = ink.harm;
    context.fill();
    return;
  }
  context.arc(x, y, kind === 'away' ? radius - 0.5 : radius, 0, 2 * Math.PI);
  if (kind === 'away') {
    context.strokeStyle = ink.muted;
    context.lineWidth = 1;
    context.stroke();
    return;
  }
  context.fillStyle = kind === 'sold' ? ink.accent : ink.muted;
  context.fill();
}
