import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { connection } from '../sources/connection.js';
import type { Strike } from '../state/lock.js';
import { waitersIn } from '../state/sale.js';
import { SALE } from '../step-log.js';
import { store } from '../store.js';
import { keyAt } from '../timeline/key.js';
import { handsWords } from '../words/hands-words.js';
import { obstacleTo } from './availability.js';
import { CommandEvent } from './command-event.js';
import { saidAt } from './said.js';
import type { Said } from './said.js';

const COMMANDS = ['kill-holder', 'freeze-holder'] as const;

/** Strikes the process that holds the lock, and narrates what becomes of the lock. */
@customElement('holder-panel')
export class HolderPanel extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .row {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 8px 12px;
      }
      p {
        margin: 0;
        max-width: none;
      }
      .narration {
        min-height: 3em;
        margin-top: 10px;
        font-weight: 600;
      }
      b {
        font-size: 1.375rem;
        line-height: 1;
      }
    `,
  ];

  @property({ attribute: false }) now = 0;
  @property({ attribute: false }) said: Said | undefined;

  protected override render(): TemplateResult {
    const words = this.say(handsWords);
    const { strike } = this.page.lock;
    return html`<div class="panel">
      <div class="row">
        ${COMMANDS.map((kind) => this.#button(kind))} ${saidAt('holder', this.said)}
      </div>
      <p class="narration">
        <span role="status">${strike === undefined ? words.holder.idle : this.#told(strike)}</span
        >${strike === undefined || strike.next !== undefined ? nothing : this.#countdown(strike)}
      </p>
    </div>`;
  }

  #button(kind: (typeof COMMANDS)[number]): TemplateResult {
    const words = this.say(handsWords);
    const obstacle = obstacleTo(kind, this.page, connection.state);
    return html`<button
      class=${kind === 'kill-holder' ? 'main' : ''}
      aria-disabled=${obstacle !== undefined}
      title=${obstacle === undefined ? '' : words.obstacles[obstacle]}
      @click=${() => this.dispatchEvent(new CommandEvent({ kind }))}
    >
      ${words.commands[kind]}
    </button>`;
  }

  /** Without a running number: a screen reader reads it at each change. */
  #told({ what, number, lock, next, hasWoken, isRefused }: Strike): string {
    const { holder: words } = this.say(handsWords);
    const separator = this.language === 'zh' ? '' : ' ';
    const sentences = [
      lock === undefined ? words.struck[what](number) : words.struckHolder[what](number, lock),
      next === undefined ? '' : words.next(next.number, next.afterMs, next.number === number),
      what === 'frozen' && next !== undefined && !hasWoken ? words.still(number) : '',
      hasWoken ? words.woke(number, isRefused) : '',
    ];
    return sentences.filter((sentence) => sentence !== '').join(separator);
  }

  /** Until another process acquires the lock. */
  #countdown({ lock }: Strike): TemplateResult | typeof nothing {
    if (lock === undefined) return nothing;
    const { holder: words } = this.say(handsWords);
    const { ttlMs } = keyAt(store.log.of(SALE), this.now) ?? {};
    const waiters = words.wait(waitersIn(this.page.sale));
    return ttlMs === undefined
      ? html`<span class="figure">${words.free}${waiters}</span>`
      : html`<span class="figure" role="timer"
          >${words.freeIn[0]}<b class="harm">${(ttlMs / 1_000).toFixed(1)} s</b
          >${words.freeIn[1]}${waiters}</span
        >`;
  }
}
