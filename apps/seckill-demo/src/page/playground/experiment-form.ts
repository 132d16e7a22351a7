import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import { NUMBERS, STRATEGY_NAMES, withFault } from '../../playground/experiment.js';
import type { Experiment, Fault, NumberName, StrategyName } from '../../playground/experiment.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { experimentWords } from '../words/experiment-words.js';
import { ExperimentEvent } from './experiment-event.js';

const NAMES = Object.keys(NUMBERS) as NumberName[];
const OWN = STRATEGY_NAMES.indexOf('lock-unchecked');
/** A freeze that outlasts the lease. */
const freezeMs = (leaseMs: number): number => Math.round(leaseMs * 1.5);

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
    const option = (name: StrategyName) =>
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
            <span>${words.fault(fault)}</span>
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

  #newFault(): TemplateResult {
    const words = this.say(experimentWords);
    const { leaseMs, processes } = this.experiment;
    const number = (name: 'at' | 'ms', label: string, value: number) =>
      html`<label
        >${label}<input
          type="number"
          name=${name}
          min="0"
          max="59999"
          step="any"
          value=${value}
          required
      /></label>`;
    return html`<form id="fault" @submit=${this.#addFault}>
      <label
        >${words.kind}
        <select name="kind">
          <option value="kill">${words.kinds.kill}</option>
          <option value="freeze">${words.kinds.freeze}</option>
        </select>
      </label>
      <label
        >${words.process}
        <select name="process">
          ${Array.from({ length: processes }, (_, i) => html`<option>${i + 1}</option>`)}
        </select>
      </label>
      ${number('at', words.at, 50)} ${number('ms', words.forMs, freezeMs(leaseMs))}
      <button>${words.add}</button>
    </form>`;
  }

  readonly #stay = (event: Event): void => {
    event.preventDefault();
  };

  readonly #addFault = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(this.faultForm);
    const kind: Fault['kind'] = given.get('kind') === 'kill' ? 'kill' : 'freeze';
    const [process, at, ms] = ['process', 'at', 'ms'].map((name) => Number(given.get(name)));
    const fault = { kind, process: process ?? 1, at: at ?? 0, ms: kind === 'kill' ? 0 : (ms ?? 0) };
    this.dispatchEvent(new ExperimentEvent(withFault(this.experiment, fault)));
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
    this.#want({ seed: (this.experiment.seed % NUMBERS.seed.most) + 1 });
  };

  #want(change: Partial<Experiment>): void {
    this.dispatchEvent(new ExperimentEvent({ ...this.experiment, ...change }));
  }
}
