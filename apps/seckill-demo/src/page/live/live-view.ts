import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { liveWords } from '../words/live-words.js';
import './queues-panel.js';
import './rate-chart.js';

/** The figures of the sale, live. */
@customElement('live-view')
export class LiveView extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .columns {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 270px), 1fr));
        gap: 20px;
      }
      .columns > * {
        min-width: 0;
      }
      rate-chart {
        grid-column: span 2;
      }
      @media (max-width: 700px) {
        rate-chart {
          grid-column: auto;
        }
      }
    `,
  ];

  protected override render(): TemplateResult {
    const words = this.say(liveWords);
    return html`
      <h2>${words.title}</h2>
      <p class="quiet">${words.intro}</p>
      <div class="columns">
        <queues-panel class="panel"></queues-panel>
        <rate-chart class="panel"></rate-chart>
      </div>
    `;
  }
}
