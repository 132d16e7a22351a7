import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';
import { store } from '../store.js';
import { SIGNS } from '../words.js';
import { duelWords } from '../words/duel-words.js';
import './duel-lane.js';
import type { DuelLane } from './duel-lane.js';
import { laneOf } from './lane.js';

const STRATEGIES = ['naive', 'redis-lock'] as const;

/** The same sale twice, side by side: without a lock and with this library. */
@customElement('duel-view')
export class DuelView extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .lanes {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr));
        gap: 20px;
      }
      footer {
        display: flex;
        flex-wrap: wrap;
        align-items: start;
        justify-content: space-between;
        gap: 8px 20px;
        margin-top: 12px;
      }
      details {
        margin: 6px 0 0;
        min-width: 0;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const words = this.say(duelWords);
    return html`
      <div class="lanes">
        ${STRATEGIES.map((strategy) => html`<duel-lane strategy=${strategy}></duel-lane>`)}
      </div>
      <footer>
        ${preferences.isStill ? nothing : html`<button @click=${this.#again}>↻ ${words.again}</button>`}
        <details>
          <summary>${words.asTable}</summary>
          <div class="scroll" tabindex="0" role="group" aria-label=${words.asTable}>
            ${this.#table()}
          </div>
        </details>
      </footer>
    `;
  }

  readonly #again = (): void => {
    for (const lane of this.renderRoot.querySelectorAll<DuelLane>('duel-lane')) lane.replay();
  };

  #table(): TemplateResult {
    const { columns } = this.say(duelWords);
    const stock = this.page.run?.stock ?? 0;
    return html`<table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${STRATEGIES.map((strategy) => {
          const { answers, isOver, spanMs } = laneOf(store.log.of(`duel/${strategy}`));
          const sold = answers.filter(({ isSold }) => isSold).length;
          return html`<tr>
            <th scope="row">${strategy}</th>
            <td>${sold}</td>
            <td>${Math.max(0, sold - stock)}</td>
            <td>${answers.length - sold}</td>
            <td>${isOver ? Math.round(spanMs) : SIGNS.none}</td>
          </tr>`;
        })}
      </tbody>
    </table>`;
  }
}
