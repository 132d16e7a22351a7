import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import type { BooksSeen } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { handsWords } from '../words/hands-words.js';
import { liveWords } from '../words/live-words.js';

/** An order moves from left to right. */
const STATES = [
  'queued',
  'reserved',
  'paying',
  'paid',
  'sold-out',
  'expired',
  'cancelled',
] as const;

/** The stock and the orders. Both must agree after every fault. */
@customElement('books-panel')
export class BooksPanel extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .bar {
        display: flex;
        height: 26px;
        margin: 12px 0;
        border: 1px solid var(--edge);
        border-radius: 6px;
        overflow: hidden;
      }
      .bar i {
        background: var(--accent);
        transition: width 0.2s;
      }
      .bar i.paid {
        background: repeating-linear-gradient(
          90deg,
          var(--accent) 0 5px,
          var(--accent-soft) 5px 7px
        );
      }
      .bar i.over {
        background: repeating-linear-gradient(135deg, var(--harm) 0 5px, var(--harm-soft) 5px 8px);
      }
      dl {
        display: grid;
        grid-template-columns: 1fr max-content;
        gap: 2px 12px;
        margin: 0;
      }
      dt {
        color: var(--muted);
      }
      dd {
        margin: 0;
        text-align: end;
        font-weight: 600;
      }
      h4 {
        margin: 12px 0 2px;
        font-size: 0.8125rem;
        color: var(--muted);
        font-weight: 600;
      }
      .verdict {
        margin: 10px 0 0;
        font-weight: 600;
      }
      @media (prefers-reduced-motion: reduce) {
        .bar i {
          transition: none;
        }
      }
    `,
  ];

  protected override render(): TemplateResult {
    const words = this.say(liveWords).books;
    const { books } = this.page.figures;
    return html`<h3>${words.title}</h3>
      ${books === undefined ? html`<p class="quiet">${words.none}</p>` : this.#books(books)}`;
  }

  #books({ openingStock, stock, orders, states, difference }: BooksSeen): TemplateResult {
    const words = this.say(liveWords).books;
    const whole = Math.max(1, openingStock, orders);
    const share = (pieces: number): string => `width:${((100 * pieces) / whole).toFixed(2)}%`;
    const within = Math.min(orders, openingStock);
    const paid = Math.min(states.paid ?? 0, within);
    return html`
      <div class="bar" aria-hidden="true">
        <i class="paid" style=${share(paid)}></i><i style=${share(within - paid)}></i
        ><i class="over" style=${share(Math.max(0, orders - openingStock))}></i>
      </div>
      <dl class="figure">
        <dt>${words.opening}</dt>
        <dd>${openingStock}</dd>
        <dt>${words.stock}</dt>
        <dd>${stock}</dd>
        <dt>${words.orders}</dt>
        <dd>${orders}</dd>
        <dt>${words.difference}</dt>
        <dd class=${difference === 0 ? '' : 'harm'}>${difference}</dd>
      </dl>
      <p class="verdict ${difference === 0 ? 'right' : 'harm'}">
        ${difference === 0 ? `✓ ${words.agrees}` : `✕ ${words.differs}`}
      </p>
      ${this.#states(states)} ${this.#reconciled()}
    `;
  }

  /** The states of the orders of the real sale. */
  #states(counts: BooksSeen['states']): TemplateResult | typeof nothing {
    const shown = STATES.filter((state) => counts[state] !== undefined);
    if (shown.length === 0) return nothing;
    const { states } = this.say(handsWords);
    return html`<h4>${this.say(liveWords).books.states}</h4>
      <dl class="figure">
        ${shown.map(
          (state) =>
            html`<dt>${states[state]}</dt>
              <dd>${counts[state]}</dd>`,
        )}
      </dl>`;
  }

  #reconciled(): TemplateResult | typeof nothing {
    const { reconciled } = this.page.sale;
    if (reconciled === undefined) return nothing;
    const { process: pid, differences } = reconciled;
    const number = this.page.processes.findIndex(({ process }) => process === pid) + 1;
    return html`<p class="quiet small">
      ${this.say(liveWords).books.reconciled(number, differences.length)} ${differences.join('; ')}
    </p>`;
  }
}
