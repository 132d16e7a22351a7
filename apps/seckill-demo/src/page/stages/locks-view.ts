import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { PART_NAMES } from '../../options/names.mjs';
import type { PartName } from '../../arena/parts/part.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { colon, outcomeWords } from '../words.js';
import { stageWords } from '../words/stage-words.js';
import './stage-card.js';

/** The parts of a sale besides the stock, each with the lock that it needs. */
@customElement('locks-view')
export class LocksView extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .cards {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(min(100%, 500px), 1fr));
        gap: 20px;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const words = this.say(stageWords);
    return html`
      <h2>${words.title}</h2>
      <p class="quiet">${words.intro}</p>
      <div class="cards">
        ${this.#parts().map((part) => html`<stage-card .partName=${part}></stage-card>`)}
      </div>
      <details>
        <summary>${words.asTable}</summary>
        <div class="scroll" tabindex="0" role="group" aria-label=${words.asTable}>
          ${this.#table()}
        </div>
      </details>
    `;
  }

  /** The parts of the run, or all parts before it begins. */
  #parts(): readonly PartName[] {
    const { run } = this.page;
    if (run === undefined) return PART_NAMES;
    const played = run.cells.flatMap((cell) => (cell.kind === 'part' ? cell.part : []));
    return [...new Set(played)].sort((a, b) => PART_NAMES.indexOf(a) - PART_NAMES.indexOf(b));
  }

  #table(): TemplateResult {
    const words = this.say(stageWords);
    return html`<table>
      <thead>
        <tr>
          ${words.columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${this.#parts().map(
          (part) =>
            html`<tr>
              <th scope="row">${part}</th>
              <td>${this.texts.partLocks[part]}</td>
              <td>${this.#told(`part/${part}/without`)}</td>
              <td>${this.#told(`part/${part}/with`)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
  }

  #told(id: string): string {
    const cell = this.page.cells[id];
    if (cell?.outcome === undefined || cell.result?.kind !== 'part') return '–';
    return `${this.say(outcomeWords)[cell.outcome]}${this.say(colon)}${this.texts.partFigures(cell.result)}`;
  }
}
