import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import '../replay/key-panel.js';
import '../replay/timeline-legend.js';
import { preferences } from '../preferences.js';
import { connection } from '../sources/connection.js';
import { SALE } from '../step-log.js';
import { store } from '../store.js';
import '../timeline/holders-timeline.js';
import { handsWords } from '../words/hands-words.js';
import { obstacleTo } from './availability.js';
import './buyer-panel.js';
import { CommandEvent } from './command-event.js';
import { send } from './commands.js';
import './process-panel.js';

const WINDOW_MS = 15_000;
/** The timeline moves on by itself at this interval. */
const MOVES_EVERY_MS = 100;
const JUMPS_EVERY_MS = 2_000;

/** The shop that serves: the visitor buys from it, and breaks it. */
@customElement('hands-view')
export class HandsView extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .columns {
        display: grid;
        grid-template-columns: minmax(0, 1.9fr) minmax(0, 1fr);
        gap: 20px;
        margin-bottom: 20px;
      }
      timeline-legend {
        margin: 12px 0 20px;
      }
      .said {
        min-height: 1.5em;
        margin: 0 0 10px;
      }
      @media (max-width: 900px) {
        .columns {
          grid-template-columns: minmax(0, 1fr);
        }
      }
    `,
  ];

  @state() private said: { readonly text: string; readonly isHarm: boolean } | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.addEventListener(CommandEvent.type, this.#carryOut);
    this.#timer = setInterval(
      () => {
        if (this.page.sale.opened !== undefined && connection.state === 'live')
          this.requestUpdate();
      },
      preferences.isStill ? JUMPS_EVERY_MS : MOVES_EVERY_MS,
    );
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.removeEventListener(CommandEvent.type, this.#carryOut);
    clearInterval(this.#timer);
  }

  protected override render(): TemplateResult {
    const words = this.say(handsWords);
    const steps = store.log.of(SALE);
    const now = connection.state === 'live' ? store.clock : this.page.now;
    return html`
      <h2>${words.title}</h2>
      <p class="quiet">${words.intro}</p>
      ${this.#obstacle()}
      <p class="said ${this.said?.isHarm === true ? 'harm' : ''}" role="status">
        ${this.said?.text ?? ''}
      </p>
      <div class="columns">
        <process-panel .redis=${this.page.sale.redis}></process-panel>
        <buyer-panel class="panel"></buyer-panel>
      </div>
      ${
        this.page.sale.opened === undefined
          ? nothing
          : html`<div class="panel">
              <h3>${words.timeline}</h3>
              <holders-timeline
                .steps=${steps}
                .count=${steps.length}
                .processes=${this.page.processes.map(({ process }) => process)}
                .now=${now}
                .window=${WINDOW_MS}
              ></holders-timeline>
              <timeline-legend></timeline-legend>
              ${
                steps.some(({ kind }) => kind === 'key')
                  ? html`<key-panel .steps=${steps} .now=${now}></key-panel>`
                  : nothing
              }
            </div>`
      }
    `;
  }

  #obstacle(): TemplateResult | typeof nothing {
    const words = this.say(handsWords);
    const obstacle = obstacleTo('buy', this.page, connection.state);
    if (obstacle === undefined) return nothing;
    const canSkip = obstacleTo('skip', this.page, connection.state) === undefined;
    return html`<p>
      <b>${words.obstacles[obstacle]}</b>
      ${
        canSkip
          ? html`<button @click=${() => this.dispatchEvent(new CommandEvent({ kind: 'skip' }))}>
              ${words.commands.skip}
            </button>`
          : nothing
      }
    </p>`;
  }

  readonly #carryOut = (event: Event): void => {
    if (!(event instanceof CommandEvent)) return;
    const { command } = event;
    void send(command).then((reply) => {
      const words = this.say(handsWords);
      const isHarm = reply.kind === 'refused';
      const text = isHarm
        ? words.refused(reply.message)
        : words.asked(words.commands[command.kind]);
      this.said = { text, isHarm };
    });
  };
}
