import { html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import type { Cell } from '../arena/cell.js';
import { ArenaElement } from './arena-element.js';
import './duel/duel-view.js';
import { pageStyles } from './page-styles.js';
import './hands/hands-view.js';
import './live/live-view.js';
import { look } from './look.js';
import './matrix/comparison-view.js';
import './matrix/matrix-view.js';
import type { MatrixView } from './matrix/matrix-view.js';
import { preferences } from './preferences.js';
import './replay/replay-view.js';
import { connection } from './sources/connection.js';
import './sources/recording-bar.js';
import './stages/locks-view.js';
import { pageWords } from './words/page-words.js';
import type { PagePart } from './words/page-words.js';

const PARTS: readonly PagePart[] = ['duel', 'matrix', 'replay', 'live', 'hands', 'locks'];
/** The cells of a part. The page leaves out a part without cells in this run. */
const CELLS_OF: Readonly<Partial<Record<PagePart, ReadonlyArray<Cell['kind']>>>> = {
  duel: ['duel'],
  matrix: ['rush', 'fault'],
  replay: ['duel', 'rush', 'fault', 'part'],
  locks: ['part'],
};

/** The whole page: first the duel, then the matrix, then the commands of a visitor. */
@customElement('arena-page')
export class ArenaPage extends ArenaElement {
  static override readonly styles = [look, pageStyles];

  protected override render(): TemplateResult {
    const words = this.say(pageWords);
    const { run } = this.page;
    return html`
      <header>
        <p class="brand"><b>nestjs-redis-lock</b> <span class="quiet">${this.#status()}</span></p>
        ${this.#contents()}
        <div class="switches">${this.#switches()}</div>
      </header>
      <main>
        <h1>${words.headline(run?.buyers ?? 300, run?.stock ?? 100)}</h1>
        ${this.#section('duel', html`${this.#lead()}<duel-view></duel-view>`)}
        ${this.#section('matrix', html`<matrix-view></matrix-view><comparison-view></comparison-view>`)}
        ${this.#section('replay', html`<replay-view @back-to-matrix=${this.#toMatrix}></replay-view>`)}
        ${this.#section('live', html`<live-view></live-view>`)}
        ${this.#section('hands', html`<hands-view></hands-view>`)}
        ${this.#section('locks', html`<locks-view></locks-view>`)}
        ${connection.state === 'recorded' ? html`<recording-bar></recording-bar>` : nothing}
      </main>
    `;
  }

  #section(part: PagePart, content: TemplateResult): TemplateResult | typeof nothing {
    return this.#parts.includes(part) ? html`<section id=${part}>${content}</section>` : nothing;
  }

  get #parts(): readonly PagePart[] {
    const { run } = this.page;
    return PARTS.filter((part) => {
      const kinds = CELLS_OF[part];
      return !run || !kinds || run.cells.some(({ kind }) => kinds.includes(kind));
    });
  }

  #lead(): TemplateResult {
    const words = this.say(pageWords);
    const lead = connection.state === 'recorded' ? words.recordedLead : words.lead;
    return html`<p class="quiet">${lead}</p>`;
  }

  #contents(): TemplateResult {
    const words = this.say(pageWords);
    return html`<nav aria-label=${words.contents}>
      ${this.#parts.map((part) => html`<a href="#${part}" @click=${this.#goTo}>${words.parts[part]}</a>`)}
    </nav>`;
  }

  #status(): TemplateResult {
    const { state } = connection;
    const isGood = state === 'live' || state === 'recorded';
    return html`<span role="status"
      ><span class=${isGood ? 'right' : ''} aria-hidden="true">${isGood ? '●' : '○'}</span>
      ${this.say(pageWords).connection[state]}</span
    >`;
  }

  #switches(): TemplateResult {
    const words = this.say(pageWords);
    const isDark = preferences.theme === 'dark';
    return html`
      <button lang=${this.language === 'en' ? 'zh-CN' : 'en'} @click=${this.#switchLanguage}>
        ${words.otherLanguage}
      </button>
      <button @click=${this.#switchTheme}>${isDark ? words.light : words.dark}</button>
    `;
  }

  /** The parts are in a shadow tree, where the browser does not find a fragment. */
  readonly #goTo = (event: MouseEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLAnchorElement)) return;
    const part = this.renderRoot.querySelector(event.currentTarget.hash);
    part?.scrollIntoView({ behavior: preferences.isStill ? 'instant' : 'smooth' });
  };

  readonly #toMatrix = (): void => {
    this.renderRoot.querySelector<MatrixView>('matrix-view')?.focusCell();
  };

  readonly #switchLanguage = (): void => {
    preferences.language = preferences.language === 'en' ? 'zh' : 'en';
  };

  readonly #switchTheme = (): void => {
    preferences.theme = preferences.theme === 'dark' ? 'light' : 'dark';
  };
}
