import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, query, state } from 'lit/decorators.js';
import type * as Playground from 'playground';
import { FIRST } from '../../playground/experiment.js';
import type { Experiment } from '../../playground/experiment.js';
import type { Run } from '../../playground/run.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { pageStyles } from '../page-styles.js';
import { preferences } from '../preferences.js';
import { colon } from '../words.js';
import { pageWords } from '../words/page-words.js';
import { playgroundWords } from '../words/playground-words.js';
import { addressOf, experimentOf } from './address.js';
import './experiment-form.js';
import type { ExperimentEvent } from './experiment-event.js';
import './run-search.js';
import './run-view.js';
import type { RunView } from './run-view.js';
import './score-board.js';

type Engine = typeof Playground;

/** The real library in virtual time. Its address is the whole experiment. */
@customElement('playground-page')
export class PlaygroundPage extends ArenaElement {
  static override readonly styles = [
    look,
    pageStyles,
    css`
      section {
        margin-bottom: 16px;
      }
      .brand a {
        color: var(--accent);
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
  @state() private engine: Engine | undefined;
  @state() private hasFailed = false;
  @state() private isCopied = false;
  @query('run-view') private readonly view!: RunView | null;

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener('hashchange', this.#follow);
    void this.#load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener('hashchange', this.#follow);
  }

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    return html`
      <header>
        <p class="brand"><a href="#">${words.arena}</a></p>
        <div class="switches">${this.#switches()}</div>
      </header>
      <main @experiment=${this.#want}>
        <h1>${words.title}</h1>
        <p class="quiet">${words.lead}</p>
        ${this.engine === undefined ? this.#wait() : this.#content(this.engine)}
      </main>
    `;
  }

  #wait(): TemplateResult {
    const { loading, failed } = this.say(playgroundWords);
    return html`<p role="status">${this.hasFailed ? failed : loading}</p>`;
  }

  #content(engine: Engine): TemplateResult {
    const { experiment, run } = this;
    return html`
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
    `;
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

  #switches(): TemplateResult {
    const words = { ...this.say(pageWords), ...this.say(playgroundWords) };
    const isDark = preferences.theme === 'dark';
    return html`
      <button @click=${this.#copy}>${this.isCopied ? words.copied : words.copy}</button>
      <button lang=${this.language === 'en' ? 'zh-CN' : 'en'} @click=${this.#switchLanguage}>
        ${words.otherLanguage}
      </button>
      <button @click=${this.#switchTheme}>${isDark ? words.light : words.dark}</button>
    `;
  }

  async #load(): Promise<void> {
    try {
      this.engine = await import('playground');
    } catch {
      this.hasFailed = true;
      return;
    }
    await this.#show(this.experiment);
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
    this.isCopied = false;
    const run = await this.engine?.run(experiment);
    // A later wish may have ended earlier.
    if (this.experiment === experiment) this.run = run;
  }

  readonly #copy = (): void => {
    history.replaceState(null, '', addressOf(this.experiment));
    void navigator.clipboard.writeText(location.href).then(() => {
      this.isCopied = true;
    });
  };

  readonly #switchLanguage = (): void => {
    preferences.language = preferences.language === 'en' ? 'zh' : 'en';
  };

  readonly #switchTheme = (): void => {
    preferences.theme = preferences.theme === 'dark' ? 'light' : 'dark';
  };
}
