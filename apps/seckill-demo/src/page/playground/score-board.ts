import { css, html, nothing } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import type * as Engine from 'playground';
import { customElement, property, state } from 'lit/decorators.js';
import { STRATEGY_NAMES, toQuery } from '../../playground/experiment.js';
import type { Experiment, PlaygroundStrategy } from '../../playground/experiment.js';
import type { Found } from '../../playground/search.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { experimentWords } from '../words/experiment-words.js';
import { playgroundWords } from '../words/playground-words.js';
import { addressOf } from './address.js';

/** As many seeds of each strategy. */
const TRIES = 60;

/** Tries to break each strategy, and keeps the score. */
@customElement('score-board')
export class ScoreBoard extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      table {
        width: 100%;
        font-size: 0.875rem;
        margin-top: 12px;
      }
      th,
      td {
        padding: 5px 14px 5px 0;
        text-align: start;
        font-weight: 400;
        border-bottom: 1px solid var(--line);
      }
      thead th {
        color: var(--muted);
        white-space: nowrap;
      }
      a {
        color: var(--accent);
      }
    `,
  ];

  @property({ attribute: false }) experiment!: Experiment;
  @property({ attribute: false }) engine!: typeof Engine;
  @state() private results: Readonly<Partial<Record<PlaygroundStrategy, Found>>> = {};
  @state() private tried:
    { readonly strategy: PlaygroundStrategy; readonly seeds: number } | undefined;
  #abort: AbortController | undefined;
  /** The address of the numbers and the faults that the score is about. */
  #shown = '';

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('experiment') || this.#isOfScore(this.experiment)) return;
    this.#abort?.abort();
    this.results = {};
  }

  #isOfScore(experiment: Experiment): boolean {
    const replayed = Object.values(this.results).map(({ broken }) => broken?.experiment);
    return (
      basisOf(experiment) === this.#shown ||
      replayed.some((one) => one && toQuery(one) === toQuery(experiment))
    );
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#abort?.abort();
  }

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    return html`
      <h2>${words.score}</h2>
      <p class="quiet">${words.scoreLead}</p>
      <button class="main" @click=${this.#toggle}>
        ${this.tried === undefined ? words.makeIt : words.stop}
      </button>
      <table>
        <thead>
          <tr>
            ${words.scoreColumns.map((column) => html`<th scope="col">${column}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${STRATEGY_NAMES.map((name) => this.#row(name))}
        </tbody>
      </table>
    `;
  }

  #row(name: PlaygroundStrategy): TemplateResult {
    const words = this.say(playgroundWords);
    const found = this.results[name];
    return html`<tr>
      <th scope="row">
        <code>${name}</code>
        <span class="quiet">${this.say(experimentWords).strategies[name]}</span>
      </th>
      <td>${found === undefined ? this.#progress(name) : this.#result(found)}</td>
      <td>
        ${
          found?.broken === undefined
            ? nothing
            : html`<a href=${addressOf(found.broken.experiment)}>${words.replay(name)}</a>`
        }
      </td>
    </tr>`;
  }

  #result({ tried, broken }: Found): TemplateResult {
    const words = this.say(playgroundWords);
    if (broken === undefined) return html`<b class="right">✓</b> ${words.safe(tried)}`;
    const verdict = words.verdicts[broken.verdict];
    return html`<b class="harm">✕</b> ${words.broken(verdict, tried)}`;
  }

  #progress(name: PlaygroundStrategy): string {
    if (this.tried?.strategy !== name) return '–';
    return this.say(playgroundWords).searching(this.tried.seeds, TRIES);
  }

  readonly #toggle = (): void => {
    if (this.tried !== undefined) this.#abort?.abort();
    else void this.#tryAll();
  };

  async #tryAll(): Promise<void> {
    const { experiment } = this;
    const { signal } = (this.#abort = new AbortController());
    this.#shown = basisOf(experiment);
    this.results = {};
    try {
      for (const strategy of STRATEGY_NAMES) {
        this.tried = { strategy, seeds: 0 };
        const found = await this.engine.search(
          { ...experiment, strategy, seed: 1 },
          {
            ...{ tries: TRIES, kinds: ['kill', 'freeze'], signal },
            onTry: (seeds) => {
              this.tried = { strategy, seeds };
            },
          },
        );
        if (signal.aborted) return;
        this.results = { ...this.results, [strategy]: found };
      }
    } finally {
      this.tried = undefined;
    }
  }
}

/** The score tries each strategy, from the same seed. */
function basisOf(experiment: Experiment): string {
  return toQuery({ ...experiment, strategy: 'naive', seed: 1 });
}
