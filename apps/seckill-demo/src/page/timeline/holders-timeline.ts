import { css, html } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import type { Step } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { surfaceOf } from '../canvas.js';
import { look } from '../look.js';
import { colon, comma } from '../words.js';
import { timelineWords } from '../words/timeline-words.js';
import { drawTimeline } from './draw.js';
import { layoutTimeline } from './layout.js';
import { shortTokens } from './marks.js';
import { TimeScale } from './time-scale.js';
import { timelineOf } from './timeline.js';
import type { Crowd } from './crowds.js';
import type { Mark } from './marks.js';
import type { Bar } from './bar.js';
import type { Timeline } from './timeline.js';

/** A table with more rows is too long to read. */
const ROWS_SHOWN = 60;

/** The holders of the lock over time: a lane for each process, drawn up to a moment. */
@customElement('holders-timeline')
export class HoldersTimeline extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      canvas {
        min-height: 120px;
      }
    `,
  ];

  @property({ attribute: false }) steps: readonly Step[] = [];
  /** A change of their number means new steps. */
  @property({ attribute: false }) count = 0;
  @property({ attribute: false }) now = Infinity;
  /** The last milliseconds, to scale. Undefined: the whole time, with shortened pauses. */
  @property({ attribute: false }) window: number | undefined;
  /** Each has a lane, in this order, even without events. */
  @property({ attribute: false }) processes: readonly number[] = [];
  @query('canvas') private readonly canvas!: HTMLCanvasElement | null;

  #timeline: Timeline = timelineOf([]);
  #scale = TimeScale.even(0, 1);
  readonly #resized = new ResizeObserver(() => {
    this.#draw();
  });

  get timeline(): Timeline {
    return this.#timeline;
  }

  get scale(): TimeScale {
    return this.#scale;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resized.disconnect();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const isSame = !changed.has('steps') && !changed.has('count') && !changed.has('window');
    if (isSame && this.window === undefined) return;
    const { window: length, now } = this;
    const steps =
      length === undefined
        ? this.steps
        : this.steps.filter(({ at }) => at > now - length && at <= now);
    const timeline = timelineOf(steps, {
      processes: this.processes,
      until: length === undefined ? undefined : now,
    });
    this.#timeline = length === undefined ? timeline : { ...timeline, from: now - length, to: now };
    this.#scale = length === undefined ? TimeScale.of(timeline) : TimeScale.even(now - length, now);
  }

  protected override render(): TemplateResult {
    const words = this.say(timelineWords);
    const { bars, overlaps, lanes } = this.#timeline;
    return html`
      <canvas
        role="img"
        aria-label=${words.picture(bars.length, overlaps.length, lanes.length)}
      ></canvas>
      <details>
        <summary>${words.asTable}</summary>
        <div class="scroll" tabindex="0" role="group" aria-label=${words.asTable}>
          ${this.#table()}
        </div>
      </details>
    `;
  }

  protected override firstUpdated(): void {
    if (this.canvas !== null) this.#resized.observe(this.canvas);
  }

  protected override updated(): void {
    this.#draw();
  }

  #draw(): void {
    const { canvas } = this;
    const context = canvas?.getContext('2d');
    if (canvas === null || !context) return;
    const words = this.say(timelineWords);
    context.font = `600 12px ${getComputedStyle(canvas).fontFamily}`;
    const layout = layoutTimeline(this.#timeline, {
      width: canvas.clientWidth,
      scale: this.#scale,
      wordOf: (mark) => this.#wordOf(mark),
      widthOf: (text) => context.measureText(text).width,
    });
    canvas.style.height = `${Math.max(120, layout.height)}px`;
    const surface = surfaceOf(canvas);
    if (surface === undefined) return;
    if (this.#timeline.lanes.length === 0) {
      surface.context.fillStyle = surface.ink.muted;
      surface.context.font = `14px ${surface.ink.font}`;
      surface.context.fillText(words.nobody, 0, 40);
      return;
    }
    const now = Math.min(this.now, this.#timeline.to);
    const timeline = this.#timeline;
    const origin = this.window === undefined ? timeline.from : timeline.to;
    const numbered = this.processes.length || timeline.lanes.length;
    drawTimeline(surface, { timeline, scale: this.#scale, layout, words, numbered, now, origin });
  }

  #wordOf({ kind, reason }: Mark): string {
    const word = this.say(timelineWords).marks[kind];
    return reason === undefined ? word : `${word}${this.say(colon)}${shortTokens(reason)}`;
  }

  #table(): TemplateResult {
    const words = this.say(timelineWords);
    const { bars, crowds } = this.#timeline;
    return html`<table>
      <thead>
        <tr>
          ${words.columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${bars.slice(0, ROWS_SHOWN).map((bar) => this.#row(bar, bar.isOrder ? words.buyer(bar.buyer) : '', this.#answer(bar)))}
        ${
          bars.length > ROWS_SHOWN
            ? html`<tr>
                <td colspan="5">+ ${bars.length - ROWS_SHOWN}</td>
              </tr>`
            : ''
        }
        ${crowds.slice(0, ROWS_SHOWN).map((crowd) => this.#row(crowd, words.crowd(crowd.most), ''))}
      </tbody>
    </table>`;
  }

  #row({ process, from, to }: Bar | Crowd, who: string, answer: string): TemplateResult {
    const { time } = this.say(timelineWords);
    const start = this.#timeline.from;
    return html`<tr>
      <td>${process}</td>
      <td>${who}</td>
      <td>${time(from - start)}</td>
      <td>${time(to - start)}</td>
      <td>${answer}</td>
    </tr>`;
  }

  #answer({ answer, reason, leaseOverAt }: Bar): string {
    const words = this.say(timelineWords);
    const why = reason === undefined ? '' : `${this.say(colon)}${reason}`;
    const word = answer === undefined ? '' : `${words.answer(answer)}${why}`;
    if (leaseOverAt === undefined) return word;
    const over = `${words.leaseOver} ${words.time(leaseOverAt - this.#timeline.from)}`;
    return word === '' ? over : `${word}${this.say(comma)}${over}`;
  }
}
