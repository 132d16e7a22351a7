import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { runningCells } from '../state/cells.js';
import type { ProcessState } from '../state/processes.js';
import { comma } from '../words.js';
import { liveWords } from '../words/live-words.js';

const DRAWN = 24;

/**
 * The holder of the lock of the product, and its waiters in each process. With the fair lock, each
 * waiter has a number.
 */
@customElement('queues-panel')
export class QueuesPanel extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      ul {
        display: grid;
        gap: 10px;
        margin: 8px 0 0;
        padding: 0;
        list-style: none;
      }
      .line {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 4px;
        min-height: 22px;
      }
      i {
        display: inline-grid;
        place-items: center;
        min-width: 20px;
        height: 20px;
        padding: 0 2px;
        border: 1.5px solid var(--muted);
        border-radius: 10px;
        font: 11px/1 var(--sans);
        font-variant-numeric: tabular-nums;
      }
      i.holder {
        background: var(--accent);
        border-color: var(--accent);
        border-radius: 4px;
        color: var(--on-accent);
      }
    `,
  ];

  protected override render(): TemplateResult {
    const words = this.say(liveWords).queues;
    const alive = this.page.processes
      .map((process, index) => ({ ...process, number: index + 1 }))
      .filter(({ condition }) => condition !== 'ended');
    return html`<h3>${words.title}</h3>
      ${
        alive.length === 0
          ? html`<p class="quiet">${words.none}</p>`
          : html`<ul>
              ${alive.map((process) => this.#line(process))}
            </ul>`
      }`;
  }

  #line({ process, number, waiting }: ProcessState & { readonly number: number }): TemplateResult {
    const words = this.say(liveWords).queues;
    const isHolder = this.page.lock.holder?.process === process;
    const isFair = runningCells(this.page.cells).some((id) =>
      /\/fair\b|part\/queue\/with$/.test(id),
    );
    return html`<li>
      <span class="small quiet figure">
        ${words.process(number)} ·
        ${isHolder ? `${words.holds}${this.say(comma)}` : ''}${words.waiting(waiting)}
      </span>
      <span class="line" aria-hidden="true">
        ${isHolder ? html`<i class="holder">■</i>` : ''}
        ${Array.from({ length: Math.min(waiting, DRAWN) }, (_, place) => html`<i>${isFair ? place + 1 : ''}</i>`)}
        ${waiting > DRAWN ? html`<span class="small quiet">${words.more(waiting - DRAWN)}</span>` : ''}
      </span>
    </li>`;
  }
}
