import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Command, CommandKind } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { connection } from '../sources/connection.js';
import type { ProcessState } from '../state/processes.js';
import { colon } from '../words.js';
import { handsWords } from '../words/hands-words.js';
import { obstacleTo } from './availability.js';
import { CommandEvent } from './command-event.js';
import { saidAt } from './said.js';
import type { Said } from './said.js';

const ON_PROCESS = ['kill', 'freeze', 'cut', 'block'] as const;
const ON_REDIS = ['redis-pause', 'redis-restart', 'redis-fail-over'] as const;

/** The commands for the processes of the shop, and for Redis. */
@customElement('process-panel')
export class ProcessPanel extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      ul {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 250px), 1fr));
        gap: 12px;
        margin: 0;
        padding: 0;
        list-style: none;
      }
      li {
        padding: 14px;
        border: 1px solid var(--line);
        border-radius: 10px;
      }
      li.struck {
        border-style: dashed;
        border-color: var(--edge);
      }
      h3 span {
        font-weight: 400;
      }
      .buttons {
        display: flex;
        flex-wrap: wrap;
        gap: 6px;
        margin-top: 10px;
      }
      button {
        font-size: 0.8125rem;
        min-height: 32px;
        padding: 2px 10px;
      }
      .why {
        margin: 10px 0 0;
      }
      .said {
        min-height: 1.5em;
        margin: 6px 0 0;
      }
      i {
        font-style: normal;
      }
    `,
  ];

  @property() redis: 'up' | 'paused' = 'up';
  @property({ attribute: false }) said: Said | undefined;

  protected override render(): TemplateResult {
    const words = this.say(handsWords);
    const { processes } = this.page;
    return html`<ul>
      ${processes.length === 0 ? html`<li class="quiet">${words.noProcess}</li>` : ''}
      ${processes.map((process, index) => this.#process(process, index + 1))}
      <li class=${this.redis === 'up' ? '' : 'struck'}>
        <h3>${words.redis}</h3>
        <div class="small">${sign(this.redis === 'up')} ${words.redisStates[this.redis]}</div>
        <div class="buttons">
          ${ON_REDIS.map((kind) => this.#button(kind, { kind }, words.redis, false))}
        </div>
        ${this.#why(ON_REDIS)} ${saidAt('redis', this.said)}
      </li>
    </ul>`;
  }

  #process({ process, condition, waiting }: ProcessState, number: number): TemplateResult {
    const words = this.say(handsWords);
    const name = words.process(number);
    const holds = this.page.lock.holder?.process === process;
    return html`<li class=${condition === 'up' ? '' : 'struck'}>
      <h3>${name} <span class="quiet small">pid ${process}</span></h3>
      <div class="small figure">
        ${sign(condition === 'up')} ${words.conditions[condition]} · ${words.counts(waiting, holds)}
      </div>
      <div class="buttons">
        ${ON_PROCESS.map((kind) =>
          this.#button(kind, { kind, process }, name, condition === 'ended'),
        )}
      </div>
      ${this.#why(ON_PROCESS)} ${saidAt(number, this.said)}
    </li>`;
  }

  #button(kind: CommandKind, command: Command, target: string, isGone: boolean): TemplateResult {
    const words = this.say(handsWords);
    const obstacle = obstacleTo(kind, this.page, connection.state);
    return html`<button
      aria-disabled=${isGone || obstacle !== undefined}
      aria-label="${target}${this.say(colon)}${words.commands[kind]}"
      title=${obstacle === undefined ? '' : words.obstacles[obstacle]}
      @click=${() => this.dispatchEvent(new CommandEvent(command))}
    >
      ${words.commands[kind]}
    </button>`;
  }

  /** The page shows a reason for all commands once, above them. */
  #why(kinds: readonly CommandKind[]): TemplateResult[] {
    const obstacles = kinds.map((kind) => obstacleTo(kind, this.page, connection.state));
    const own = obstacles.filter((one) => one === 'foreign-redis' || one === 'platform');
    return [...new Set(own)].map(
      (obstacle) =>
        html`<p class="why small quiet">${this.say(handsWords).obstacles[obstacle]}</p>`,
    );
  }
}

function sign(isWell: boolean): TemplateResult {
  return html`<i class=${isWell ? 'right' : 'harm'} aria-hidden="true">${isWell ? '●' : '◌'}</i>`;
}
