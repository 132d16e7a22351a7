import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { pointsOf } from '../state/figures.js';
import type { Point } from '../state/figures.js';
import { liveWords } from '../words/live-words.js';
import './series-plot.js';

const SECONDS = 60;
const ROWS_SHOWN = 15;

/** Orders per second and the p99 of their answers, over the last minute. */
@customElement('rate-chart')
export class RateChart extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .plots {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr));
        gap: 8px 20px;
      }
      .plots > div {
        min-width: 0;
      }
      h3 b {
        float: inline-end;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const words = this.say(liveWords).chart;
    const points = pointsOf(this.page.figures, this.page.now, SECONDS);
    // The present second is not over yet.
    const last = points.at(-2);
    const slowest = last?.p99Ms ?? null;
    const rate = last?.ordersPerSecond ?? 0;
    return html`
      <div class="plots">
        ${this.#plot(
          words.rate,
          points,
          points.map(({ ordersPerSecond }) => ordersPerSecond),
          `${rate}`,
        )}
        ${this.#plot(
          words.p99,
          points,
          points.map(({ p99Ms }) => p99Ms),
          slowest === null ? '–' : `${Math.round(slowest)}`,
        )}
      </div>
      <details>
        <summary>${words.asTable}</summary>
        ${this.#table(points)}
      </details>
    `;
  }

  #plot(
    name: string,
    points: readonly Point[],
    values: ReadonlyArray<number | null>,
    now: string,
  ): TemplateResult {
    return html`<div>
      <h3>${name} <b class="figure">${now}</b></h3>
      <series-plot
        label=${this.say(liveWords).chart.picture(name, now)}
        .seconds=${points.map(({ second }) => second)}
        .values=${values}
      ></series-plot>
    </div>`;
  }

  #table(points: readonly Point[]): TemplateResult {
    const words = this.say(liveWords).chart;
    return html`<table>
      <thead>
        <tr>
          <th scope="col">${words.second}</th>
          <th scope="col">${words.rate}</th>
          <th scope="col">${words.p99}</th>
        </tr>
      </thead>
      <tbody>
        ${points.slice(-ROWS_SHOWN).map(
          ({ second, ordersPerSecond, p99Ms }) =>
            html`<tr>
              <td>${second}</td>
              <td>${ordersPerSecond}</td>
              <td>${p99Ms === null ? '–' : Math.round(p99Ms)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
  }
}
