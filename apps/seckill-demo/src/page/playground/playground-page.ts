import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, query, state } from 'lit/decorators.js';
import * as engine from 'playground';
import { FIRST } from '../../playground/experiment.js';
import type { Experiment } from '../../playground/experiment.js';
import type { Run } from '../../playground/run.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { pageStyles } from '../page-styles.js';
import { preferences } from '../preferences.js';
import { selection } from '../selection.js';
import { colon } from '../words.js';
import { playgroundWords } from '../words/playground-words.js';
import { addressOf, experimentOf } from './address.js';
import './experiment-form.js';
import type { ExperimentEvent } from './experiment-event.js';
import './run-search.js';
import './run-view.js';
import type { RunView } from './run-view.js';
import './score-board.js';

/** The real library in virtual time. Its address is the whole experiment. */
@customElement('playground-page')
export class PlaygroundPage extends ArenaElement {
  static override readonly styles = [
    look,
    pageStyles,
    css`
      :host {
        padding: 0;
      }
      section {
        margin-bottom: 16px;
      }
      ul {
        margin: 0;
        padding-inline-start: 1.2em;
        font-size: 0.875rem;
      }
    `,
  ];

  @state() private experiment: Experiment = experimentOf(location) ?? FIRST;
  @state() private run: Run | undefined;
  @state() private copying: 'copy' | 'copied' | 'notCopied' = 'copy';
  @query('run-view') private readonly view!: RunView | null;

  #endVisits: () => void = () => undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#endVisits = selection.subscribe(this.#follow);
    void this.#show(this.experiment);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#endVisits();
  }

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    const { experiment, run } = this;
    return html`<div @experiment=${this.#want}>
      <h1>${words.title}</h1>
      <p class="quiet">${words.lead}</p>
      <p><button @click=${this.#copy}>${words[this.copying]}</button></p>
      <section class="panel">
        <experiment-form .experiment=${experiment} .run=${run}></experiment-form>
        <run-search .experiment=${experiment} .engine=${engine}></run-search>
      </section>
      <section class="panel">
        ${
          run === undefined
            ? nothing
            : html`<run-view
                .run=${run}
                .source=${engine.sourceOf(run.experiment.strategy)}
              ></run-view>`
        }
      </section>
      <section class="panel">
        <score-board .experiment=${experiment} .engine=${engine}></score-board>
      </section>
      ${this.#notes()}
    </div>`;
  }

  #notes(): TemplateResult {
    const { real, standIns } = this.say(playgroundWords);
    return html`<section class="panel">
      <h2>${real}</h2>
      <ul>
        ${standIns.map(([name, text]) => html`<li><code>${name}</code>${this.say(colon)}${text}</li>`)}
      </ul>
    </section>`;
  }

  readonly #follow = (): void => {
    const experiment = experimentOf(location);
    if (experiment === undefined) return;
    this.view?.playFromStart();
    this.view?.scrollIntoView({ behavior: preferences.isStill ? 'instant' : 'smooth' });
    void this.#show(experiment);
  };

  readonly #want = ({ experiment, isPlayed }: ExperimentEvent): void => {
    history.replaceState(null, '', addressOf(experiment));
    if (isPlayed) this.view?.playFromStart();
    void this.#show(experiment);
  };

  async #show(experiment: Experiment): Promise<void> {
    this.experiment = experiment;
    this.copying = 'copy';
    const run = await engine.run(experiment);
    // A later wish may have ended earlier.
    if (this.experiment === experiment) this.run = run;
  }

  readonly #copy = async (): Promise<void> => {
    history.replaceState(null, '', addressOf(this.experiment));
    try {
      // Without TLS there is no clipboard, and a browser may refuse it.
      await navigator.clipboard.writeText(location.href);
      this.copying = 'copied';
    } catch {
      this.copying = 'notCopied';
    }
  };
}
