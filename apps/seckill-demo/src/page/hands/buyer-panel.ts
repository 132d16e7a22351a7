import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Command, CommandKind, OrderMoved } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { connection } from '../sources/connection.js';
import { orderOf, placeInLine } from '../state/sale.js';
import { colon } from '../words.js';
import { handsWords } from '../words/hands-words.js';
import { obstacleTo } from './availability.js';
import { CommandEvent } from './command-event.js';
import { reasonOf, send } from './commands.js';
import { refusalOf } from './refusal.js';
import type { Refusal } from './refusal.js';
import { saidAt } from './said.js';
import type { Said } from './said.js';

const ROBOTS = 500;
const NEW_STOCK = 100;
const KEY = 'arena-buyer';

/** Each tab keeps its own name: sessionStorage is not shared between tabs. */
function nameOfThisTab(): string {
  const fresh = `guest-${Math.random().toString(36).slice(2, 6)}`;
  try {
    const name = sessionStorage.getItem(KEY) ?? fresh;
    sessionStorage.setItem(KEY, name);
    return name;
  } catch {
    return fresh;
  }
}

/** The visitor buys, pays, and calls robots. */
@customElement('buyer-panel')
export class BuyerPanel extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .row {
        display: flex;
        flex-wrap: wrap;
        align-items: end;
        gap: 8px;
        margin-bottom: 10px;
      }
      label {
        display: grid;
        gap: 2px;
        flex: 1 1 130px;
        font-size: 0.8125rem;
        color: var(--muted);
      }
      input {
        min-width: 0;
        width: 100%;
      }
      .answer {
        min-height: 1.5em;
        margin-bottom: 8px;
        font-weight: 600;
      }
    `,
  ];

  @property({ attribute: false }) said: Said | undefined;
  @state() private buyer = nameOfThisTab();
  @state() private refusal: Refusal | undefined;
  /** Runs during the time to pay. */
  #timer: ReturnType<typeof setInterval> | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#timer = setInterval(() => {
      if (orderOf(this.page.sale, this.buyer)?.state === 'reserved') this.requestUpdate();
    }, 1_000);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  protected override render(): TemplateResult {
    const words = this.say(handsWords);
    const order = orderOf(this.page.sale, this.buyer);
    return html`
      <h3>${words.buyer.title}</h3>
      <p class="quiet small">${words.buyer.intro}</p>
      <div class="row">
        <label
          >${words.buyer.name}<input maxlength="40" .value=${this.buyer} @change=${this.#rename}
        /></label>
        ${this.#button('buy', words.commands.buy, this.#purchase('buy'), 'main')}
        ${this.#button('pay', words.commands.pay, this.#purchase('pay'))}
      </div>
      <p class="answer" role="status">
        ${this.#refusal()} ${order === undefined ? nothing : this.#order(order)}
      </p>
      <div class="row">
        ${this.#button('robots', words.buyer.robots(ROBOTS), this.#tell({ kind: 'robots', count: ROBOTS }))}
        ${this.#button('restock', words.buyer.restock(NEW_STOCK), this.#tell({ kind: 'restock', stock: NEW_STOCK }))}
      </div>
      ${saidAt('buyer', this.said)}
    `;
  }

  #button(kind: CommandKind, text: string, act: () => void, look = ''): TemplateResult {
    const words = this.say(handsWords);
    const obstacle = obstacleTo(kind, this.page, connection.state);
    const why = obstacle === undefined ? '' : words.obstacles[obstacle];
    return html`<button
      class=${look}
      aria-disabled=${obstacle !== undefined}
      title=${why}
      @click=${() => {
        if (obstacle === undefined) act();
        else this.refusal = { kind: 'failed', message: why };
      }}
    >
      ${text}
    </button>`;
  }

  #refusal(): TemplateResult | typeof nothing {
    const { refusal } = this;
    if (refusal === undefined) return nothing;
    return refusal.kind === 'failed'
      ? html`<span class="harm">✕ ${refusal.message}</span>`
      : html`${this.say(handsWords).buyer.refusals[refusal.kind]}`;
  }

  #order({ order, state: name, payUntil, ...rest }: OrderMoved): TemplateResult {
    const words = this.say(handsWords);
    const place = placeInLine(this.page.sale, { order, state: name, ...rest });
    const left = payUntil === undefined ? 0 : Date.parse(payUntil) - Date.now();
    const isDue = name === 'reserved' && left > 0;
    return html`${words.buyer.order}${this.say(colon)}
      <span class=${name === 'paid' ? 'right' : ''}>${words.states[name] ?? name}</span>
      <span class="quiet figure">
        ${place > 0 ? `· ${words.buyer.place(place)}` : ''}
        ${isDue ? `· ${words.buyer.payBy(Math.ceil(left / 1_000))}` : ''}
      </span>`;
  }

  #purchase(kind: 'buy' | 'pay'): () => void {
    return () => {
      void send({ kind, buyer: this.buyer }).then((reply) => {
        this.refusal =
          reply.kind === 'done'
            ? refusalOf(kind, reply.body)
            : { kind: 'failed', message: reasonOf(reply, this.say(handsWords).obstacles) };
      });
    };
  }

  #tell(command: Command): () => void {
    return () => {
      this.refusal = undefined;
      this.dispatchEvent(new CommandEvent(command));
    };
  }

  readonly #rename = ({ target }: Event): void => {
    if (!(target instanceof HTMLInputElement) || target.value.trim() === '') return;
    this.buyer = target.value.trim();
    this.refusal = undefined;
    try {
      sessionStorage.setItem(KEY, this.buyer);
    } catch {
      // It holds until the page is loaded again.
    }
  };
}
