import { css, html } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import type * as Engine from 'playground';
import { customElement, property, state } from 'lit/decorators.js';
import { toQuery } from '../../playground/experiment.js';
import type { Experiment, Fault } from '../../playground/experiment.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { experimentWords } from '../words/experiment-words.js';
import { playgroundWords } from '../words/playground-words.js';
import { ExperimentEvent } from './experiment-event.js';

const TRIES = 300;
const KINDS = ['kill', 'freeze'] as const;

/** Tries seeds until a run of the experiment breaks. */
@customElement('run-search')
export class RunSearch extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      div {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 6px 14px;
        margin-top: 16px;
      }
      label {
        display: inline-flex;
        align-items: center;
        gap: 6px;
      }
      input {
        min-height: 0;
      }
    `,
  ];

  @property({ attribute: false }) experiment!: Experiment;
  @property({ attribute: false }) engine!: typeof Engine;
  @state() private kinds: readonly Fault['kind'][] = KINDS;
  @state() private says = '';
  #abort: AbortController | undefined;
  /** The address of the experiment that `says` is about. */
  #shown = '';

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('experiment') || toQuery(this.experiment) === this.#shown) return;
    this.#shown = toQuery(this.experiment);
    this.#abort?.abort();
    this.says = '';
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#abort?.abort();
  }

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    return html`<div>
      <button class="main" @click=${this.#toggle}>
        ${this.#abort === undefined ? words.search : words.stop}
      </button>
      <span role="group" aria-label=${words.searchWith}>
        ${words.searchWith}
        ${KINDS.map(
          (kind) =>
            html`<label
              ><input
                type="checkbox"
                name=${kind}
                ?checked=${this.kinds.includes(kind)}
                @change=${this.#allow}
              />${this.say(experimentWords).kinds[kind]}</label
            > `,
        )}
      </span>
      <span role="status" class="quiet figure">${this.says}</span>
    </div>`;
  }

  readonly #allow = ({ target }: Event): void => {
    const { name, checked } = target as HTMLInputElement;
    this.kinds = KINDS.filter((kind) => (kind === name ? checked : this.kinds.includes(kind)));
  };

  readonly #toggle = (): void => {
    if (this.#abort === undefined) void this.#search();
    else this.#abort.abort();
  };

  async #search(): Promise<void> {
    const { signal } = (this.#abort = new AbortController());
    const words = () => this.say(playgroundWords);
    const { experiment } = this;
    try {
      const { tried, broken } = await this.engine.search(experiment, {
        ...{ tries: TRIES, kinds: this.kinds, signal },
        onTry: (seeds) => {
          this.says = words().searching(seeds, TRIES);
        },
      });
      if (this.experiment !== experiment) return;
      if (signal.aborted) this.says = words().stopped(tried);
      else this.says = broken === undefined ? words().notFound(tried) : words().found(tried);
      if (broken !== undefined && !signal.aborted) {
        this.#shown = toQuery(broken.experiment);
        this.dispatchEvent(new ExperimentEvent(broken.experiment, true));
      }
    } finally {
      this.#abort = undefined;
      this.requestUpdate();
    }
  }
}
