import { css, html } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import type uPlot from 'uplot';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';

type Plot = typeof uPlot;

const HEIGHT = 124;
const LEAST_HIGH = 10;

/** One figure over the seconds. */
@customElement('series-plot')
export class SeriesPlot extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      #place {
        min-height: 124px;
        min-width: 0;
        overflow: hidden;
      }
      /* uPlot lays its canvas, and what is above and below it, one over the other. */
      .u-wrap {
        position: relative;
      }
      .u-wrap canvas {
        position: relative;
        height: 100%;
      }
      .u-over,
      .u-under,
      .u-axis {
        position: absolute;
      }
    `,
  ];

  @property({ attribute: false }) seconds: readonly number[] = [];
  @property({ attribute: false }) values: ReadonlyArray<number | null> = [];
  @property() label = '';
  @query('#place') private readonly place!: HTMLDivElement | null;

  #Plot: Plot | undefined;
  #plot: uPlot | undefined;
  /** The colours of a plot are fixed; another theme needs a new plot. */
  #theme = '';
  readonly #resized = new ResizeObserver(() => {
    if (this.place !== null) this.#plot?.setSize({ width: this.place.clientWidth, height: HEIGHT });
  });

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resized.disconnect();
  }

  protected override render(): TemplateResult {
    return html`<div id="place" role="img" aria-label=${this.label}></div>`;
  }

  protected override firstUpdated(): void {
    if (this.place !== null) this.#resized.observe(this.place);
  }

  protected override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    if (this.place === null || this.#Plot === undefined) return;
    if (this.#theme !== preferences.theme) {
      this.#theme = preferences.theme;
      this.#plot?.destroy();
      this.#plot = new this.#Plot(optionsFor(this.place), [[], []], this.place);
    }
    this.#plot?.setData([[...this.seconds], [...this.values]]);
  }

  /** It throws if the browser's language is invalid; then the figures and the table remain. */
  async #load(): Promise<void> {
    try {
      this.#Plot ??= (await import('uplot')).default;
      this.requestUpdate();
    } catch (error) {
      console.warn('no chart:', error);
    }
  }
}

function optionsFor(place: HTMLElement): uPlot.Options {
  const style = getComputedStyle(place);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour('muted'),
    font: `11px ${style.fontFamily}`,
    ticks: { show: false },
  };
  return {
    width: place.clientWidth || 300,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: fromZero } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        values: (_, ticks) => ticks.map((one) => `${one} s`),
      },
      { ...axis, grid: { stroke: colour('line'), width: 1 }, size: 48, space: 24 },
    ],
    series: [
      {},
      {
        stroke: colour('accent'),
        fill: colour('accent-soft'),
        width: 2,
        // A second between two without any answer is a point, and no line.
        points: { show: true, size: 4, fill: colour('accent') },
      },
    ],
  };
}

function fromZero(_: uPlot, _low: number | null, high: number | null): uPlot.Range.MinMax {
  return [0, Math.max(LEAST_HIGH, (high ?? 0) * 1.1)];
}
