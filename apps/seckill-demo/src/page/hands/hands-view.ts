import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { Command } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import '../live/books-panel.js';
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
import { reasonOf, send } from './commands.js';
import './holder-panel.js';
import './process-panel.js';
import { placeOf, saidAt } from './said.js';
import type { Said } from './said.js';

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
        gap: 16px 20px;
      }
      .columns > * {
        min-width: 0;
      }
      process-panel {
        margin-top: 12px;
      }
      timeline-legend {
        margin: 12px 0 20px;
      }
      .said {
        margin: 0;
      }
      @media (max-width: 900px) {
        .columns {
          grid-template-columns: minmax(0, 1fr);
        }
      }
    `,
  ];

  @state() private said: Said | undefined;
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
    const now = connection.state === 'live' ? store.clock : this.page.now;
    const { said } = this;
    return html`
      <h2>${words.title}</h2>
      ${this.#lead()} ${saidAt('top', said)}
      <div class="columns">
        <div>
          <holder-panel .now=${now} .said=${said}></holder-panel>
          <process-panel .redis=${this.page.sale.redis} .said=${said}></process-panel>
        </div>
        <books-panel class="panel"></books-panel>
        ${this.#timeline(now)}
        <buyer-panel class="panel" .said=${said}></buyer-panel>
      </div>
    `;
  }

  #timeline(now: number): TemplateResult {
    const steps = store.log.of(SALE);
    if (this.page.sale.opened === undefined) return html`<div></div>`;
    return html`<div class="panel">
      <h3>${this.say(handsWords).timeline}</h3>
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
    </div>`;
  }

  /** The introduction is about live processes: a recorded run has none. */
  #lead(): TemplateResult | typeof nothing {
    const words = this.say(handsWords);
    const obstacle = obstacleTo('buy', this.page, connection.state);
    const intro = obstacle === 'recorded' ? nothing : html`<p class="quiet">${words.intro}</p>`;
    if (obstacle === undefined) return intro;
    const canSkip = obstacleTo('skip', this.page, connection.state) === undefined;
    return html`${intro}
      <p>
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
    const place = placeOf(command, this.page.processes);
    const words = this.say(handsWords);
    const say = (text: string, isHarm: boolean): void => {
      this.said = { place, text, isHarm };
    };
    const obstacle = obstacleTo(command.kind, this.page, connection.state) ?? this.#goneIn(command);
    if (obstacle !== undefined) {
      say(words.refused(words.obstacles[obstacle]), true);
      return;
    }
    if (place === 'holder') say(words.holder.awaited, false);
    void send(command).then((reply) => {
      if (reply.kind === 'refused') say(words.refused(reasonOf(reply, words.obstacles)), true);
      else say(words.asked(words.commands[command.kind]), false);
    });
  };

  #goneIn(command: Command): 'gone' | undefined {
    if (!('process' in command)) return undefined;
    const { process: pid } = command;
    const isHere = this.page.processes.some(
      ({ process, condition }) => process === pid && condition !== 'ended',
    );
    return isHere ? undefined : 'gone';
  }
}
