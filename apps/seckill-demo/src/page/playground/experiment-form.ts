import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import {
  freezeMs,
  LONGEST_MS,
  MOST_FAULTS,
  NUMBERS,
  seedsLater,
  STRATEGY_NAMES,
  withFault,
} from '../../playground/experiment.js';
import type {
  Experiment,
  Fault,
  NumberName,
  PlaygroundStrategy,
} from '../../playground/experiment.js';
import type { Run } from '../../playground/run.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { colon } from '../words.js';
import { experimentWords } from '../words/experiment-words.js';
import { ExperimentEvent } from './experiment-event.js';

const NAMES = Object.keys(NUMBERS) as NumberName[];
const OWN = STRATEGY_NAMES.indexOf('lock-unchecked');
/** As an address has them. */
const AT = { step: 0.01, least: 0, most: LONGEST_MS - 0.01 };
const FOR_MS = { step: 1, least: 1, most: LONGEST_MS };

/** The numbers, the strategy and the faults of the experiment. */
@customElement('experiment-form')
export class ExperimentForm extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      form {
        display: flex;
        flex-wrap: wrap;
        align-items: end;
        gap: 10px 14px;
      }
      label {
        display: grid;
        gap: 2px;
        font-size: 0.8125rem;
        color: var(--muted);
      }
      label.strategy {
        flex: 1 1 260px;
        min-width: 0;
      }
      input {
        width: 108px;
      }
      select {
        max-width: 100%;
        min-width: 0;
      }
      h3 {
        margin-top: 16px;
      }
      ul {
        margin: 0 0 8px;
        padding: 0;
        list-style: none;
      }
      li {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 4px 10px;
        margin-bottom: 4px;
      }
    `,
  ];

  @property({ attribute: false }) experiment!: Experiment;
  @property({ attribute: false }) run: Run | undefined;
  @state() private kind: Fault['kind'] = 'kill';
  @query('#fault') private readonly faultForm!: HTMLFormElement;

  protected override render(): TemplateResult {
    const words = this.say(experimentWords);
    return html`
      <h2>${words.experiment}</h2>
      <form @submit=${this.#stay}>
        ${this.#strategy()} ${NAMES.map((name) => this.#number(name))}
        <button type="button" @click=${this.#nextSeed}>${words.nextSeed}</button>
      </form>
      <h3>${words.faults}</h3>
      ${this.#faults()} ${this.#newFault()}
    `;
  }

  #strategy(): TemplateResult {
    const words = this.say(experimentWords);
    const option = (name: PlaygroundStrategy) =>
      html`<option value=${name} ?selected=${name === this.experiment.strategy}>
        ${name} · ${words.strategies[name]}
      </option>`;
    return html`<label class="strategy">
      ${words.strategy}
      <select name="strategy" @change=${this.#choose}>
        <optgroup label=${words.tutorial}>${STRATEGY_NAMES.slice(0, OWN).map(option)}</optgroup>
        <optgroup label=${words.library}>${STRATEGY_NAMES.slice(OWN).map(option)}</optgroup>
      </select>
    </label>`;
  }

  #number(name: NumberName): TemplateResult {
    const { least, most } = NUMBERS[name];
    return html`<label>
      ${this.say(experimentWords).numbers[name]}
      <input
        type="number"
        name=${name}
        min=${least}
        max=${most}
        .value=${String(this.experiment[name])}
        @change=${this.#set}
      />
    </label>`;
  }

  #faults(): TemplateResult {
    const words = this.say(experimentWords);
    const { faults } = this.experiment;
    if (faults.length === 0) return html`<p class="quiet small">${words.noFault}</p>`;
    return html`<ul>
      ${faults.map(
        (fault, index) =>
          html`<li>
            <span class=${this.#happens(fault) ? '' : 'quiet'}>${this.#told(fault)}</span>
            <button
              aria-label=${words.remove(words.fault(fault))}
              @click=${() => {
                this.#want({ faults: faults.filter((_, other) => other !== index) });
              }}
            >
              ✕
            </button>
          </li>`,
      )}
    </ul>`;
  }

  #told(fault: Fault): string {
    const words = this.say(experimentWords);
    const told = words.fault(fault);
    return this.#happens(fault) ? told : `${told}${this.say(colon)}${words.absent}`;
  }

  /** The run may be over before, and its process dead or missing. */
  #happens({ kind, process, at }: Fault): boolean {
    const { run } = this;
    if (run === undefined || run.experiment !== this.experiment) return true;
    const what = kind === 'kill' ? 'killed' : 'frozen';
    return run.steps.some(
      (step) =>
        step.kind === 'struck' && step.what === what && step.process === process && step.at === at,
    );
  }

  #newFault(): TemplateResult {
    const words = this.say(experimentWords);
    const { experiment } = this;
    const isFull = experiment.faults.length === MOST_FAULTS;
    return html`<form id="fault" @submit=${this.#addFault}>
        <label
          >${words.kind}
          <select name="kind" @change=${this.#setKind}>
            <option value="kill">${words.kinds.kill}</option>
            <option value="freeze">${words.kinds.freeze}</option>
          </select>
        </label>
        <label
          >${words.process}
          <select name="process">
            ${Array.from({ length: experiment.processes }, (_, i) => html`<option>${i + 1}</option>`)}
          </select>
        </label>
        ${this.#time('at', AT, 50)}
        ${this.kind === 'freeze' ? this.#time('forMs', FOR_MS, freezeMs(experiment)) : nothing}
        <button ?disabled=${isFull}>${words.add}</button>
      </form>
      ${isFull ? html`<p class="quiet small">${words.full(MOST_FAULTS)}</p>` : nothing}`;
  }

  #time(name: 'at' | 'forMs', { step, least, most }: typeof AT, value: number): TemplateResult {
    return html`<label
      >${this.say(experimentWords)[name]}<input
        type="number"
        name=${name}
        step=${step}
        min=${least}
        max=${most}
        value=${value}
        required
    /></label>`;
  }

  readonly #stay = (event: Event): void => {
    event.preventDefault();
  };

  readonly #addFault = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(this.faultForm);
    const number = (name: string) => Number(given.get(name) ?? 0);
    const fault = {
      kind: this.kind,
      process: number('process'),
      at: number('at'),
      ms: number('forMs'),
    };
    this.dispatchEvent(new ExperimentEvent(withFault(this.experiment, fault)));
  };

  readonly #setKind = ({ target }: Event): void => {
    this.kind = (target as HTMLSelectElement).value === 'kill' ? 'kill' : 'freeze';
  };

  readonly #choose = ({ target }: Event): void => {
    const chosen = STRATEGY_NAMES.find((name) => name === (target as HTMLSelectElement).value);
    if (chosen !== undefined) this.#want({ strategy: chosen });
  };

  readonly #set = ({ target }: Event): void => {
    const { name, valueAsNumber, value } = target as HTMLInputElement;
    const known = NAMES.find((one) => one === name);
    if (known === undefined) return;
    const { least, most, usual } = NUMBERS[known];
    const number =
      value === '' ? usual : Math.min(most, Math.max(least, Math.round(valueAsNumber)));
    this.#want({ [known]: number });
    // A corrected number stands there, too.
    this.requestUpdate();
  };

  readonly #nextSeed = (): void => {
    this.#want(seedsLater(this.experiment, 1));
  };

  #want(change: Partial<Experiment>): void {
    this.dispatchEvent(new ExperimentEvent({ ...this.experiment, ...change }));
  }
}
