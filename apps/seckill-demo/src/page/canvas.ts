/** A canvas to draw on, in CSS pixels. */
export interface Surface {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly ink: Palette;
}

/** The colours of the page; a canvas cannot use its variables. */
export interface Palette {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly panel: string;
  readonly accent: string;
  readonly accentSoft: string;
  readonly harm: string;
  readonly harmSoft: string;
  readonly font: string;
}

/** Clears the canvas, and adapts it to the resolution of the screen. */
export function surfaceOf(canvas: HTMLCanvasElement): Surface | undefined {
  const context = canvas.getContext('2d');
  const { clientWidth: width, clientHeight: height } = canvas;
  if (context === null || width === 0 || height === 0) return undefined;
  const ratio = devicePixelRatio;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ink: paletteOf(canvas) };
}

function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return paletteFrom(colour, style.fontFamily);
}

/** The colours of the page by the names of its variables. */
export function paletteFrom(colour: (name: string) => string, font: string): Palette {
  return {
    text: colour('text'),
    muted: colour('muted'),
    line: colour('line'),
    panel: colour('panel'),
    accent: colour('accent'),
    accentSoft: colour('accent-soft'),
    harm: colour('harm'),
    harmSoft: colour('harm-soft'),
    font,
  };
}

/** Lines from lower left to upper right. */
export function hatch(
  { context }: Surface,
  box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  colour: string,
  distance = 6,
): void {
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = box.x - box.height; x < box.x + box.width; x += distance) {
    context.moveTo(x, box.y + box.height);
    context.lineTo(x + box.height, box.y);
  }
  context.stroke();
  context.restore();
}
