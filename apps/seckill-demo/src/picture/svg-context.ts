import { escaped, fixed, widthOf } from './svg.js';

/** The canvas functions that the timeline uses, written as SVG. */
export class SvgContext {
  fillStyle = '';
  strokeStyle = '';
  lineWidth = 1;
  globalAlpha = 1;
  font = '';
  textAlign = 'left';
  textBaseline = 'alphabetic';
  readonly #shapes: string[] = [];
  #path = '';
  #dash = '';
  #clips = 0;
  /** The groups that are open since each `save`. */
  readonly #saved: number[] = [];
  #open = 0;

  constructor(private readonly id: string) {}

  toString(): string {
    return this.#shapes.join('');
  }

  beginPath(): void {
    this.#path = '';
  }

  moveTo(x: number, y: number): void {
    this.#path += `M${fixed(x)} ${fixed(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.#path += `L${fixed(x)} ${fixed(y)}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.#path += `M${fixed(x)} ${fixed(y)}h${fixed(width)}v${fixed(height)}h${fixed(-width)}z`;
  }

  stroke(): void {
    const dash = this.#dash === '' ? '' : ` stroke-dasharray="${this.#dash}"`;
    this.#shapes.push(
      `<path d="${this.#path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dash}/>`,
    );
  }

  clip(): void {
    this.#clips += 1;
    const id = `${this.id}${this.#clips}`;
    this.#shapes.push(
      `<clipPath id="${id}"><path d="${this.#path}"/></clipPath><g clip-path="url(#${id})">`,
    );
    this.#open += 1;
  }

  save(): void {
    this.#saved.push(this.#open);
  }

  restore(): void {
    const before = this.#saved.pop() ?? 0;
    this.#shapes.push('</g>'.repeat(this.#open - before));
    this.#open = before;
  }

  setLineDash(dash: readonly number[]): void {
    this.#dash = dash.join(' ');
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const alpha = this.globalAlpha === 1 ? '' : ` opacity="${this.globalAlpha}"`;
    this.#shapes.push(`<rect ${box(x, y, width, height)} fill="${this.fillStyle}"${alpha}/>`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.#shapes.push(
      `<rect ${box(x, y, width, height)} fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"/>`,
    );
  }

  measureText(text: string): { readonly width: number } {
    const { weight, size } = this.#fontOf();
    return { width: widthOf(text, size, weight !== '400') };
  }

  fillText(text: string, x: number, y: number): void {
    const { weight, size } = this.#fontOf();
    const anchors: Record<string, string> = { center: 'middle', right: 'end' };
    const anchor = anchors[this.textAlign];
    const middle = this.textBaseline === 'middle' ? size * 0.36 : 0;
    this.#shapes.push(
      `<text x="${fixed(x)}" y="${fixed(y + middle)}" fill="${this.fillStyle}" font-size="${size}" ` +
        `font-weight="${weight}"${anchor === undefined ? '' : ` text-anchor="${anchor}"`}>${escaped(text)}</text>`,
    );
  }

  #fontOf(): { readonly weight: string; readonly size: number } {
    const [, weight = '400', size = '12'] = /^(?:(\d+) )?(\d+)px/.exec(this.font) ?? [];
    return { weight, size: Number(size) };
  }
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}"`;
}
