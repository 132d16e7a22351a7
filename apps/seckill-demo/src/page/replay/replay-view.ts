import { html, nothing } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';
import { scrollToPart } from '../scroll-to-part.js';
import { selection } from '../selection.js';
import { runningCells } from '../state/cells.js';
import { store } from '../store.js';
import { outcomeWords, SIGNS, toneOf } from '../words.js';
import { replayWords } from '../words/replay-words.js';
import './code-panel.js';
import './key-panel.js';
import { replayStyles } from './replay-styles.js';
import { shownCell, titleOf } from './shown-cell.js';
import './timeline-legend.js';
import './timeline-player.js';
import type { TimelinePlayer } from './timeline-player.js';

/** One cell, live or replayed: its timeline, its key, and the code of its strategy. */
@customElement('replay-view')
export class ReplayView extends ArenaElement {
  static override readonly styles = [look, replayStyles];

  /** The run has a matrix. */
  @property({ type: Boolean }) canGoBack = false;
  /** The position of the playhead; undefined: at the latest step. */
  @state() private now: number | undefined;
  @query('timeline-player') private readonly player!: TimelinePlayer | null;

  /** The visit whose cell it shows. */
  #visit = -1;

  protected override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    const { cell, visits } = selection;
    if (this.#visit === visits || this.page.run === undefined) return;
    this.#visit = visits;
    const isPlayed = cell !== undefined && this.page.cells[cell]?.outcome !== undefined;
    if (isPlayed && !preferences.isStill) this.player?.play();
    else this.player?.stop();
    if (cell === undefined) return;
    scrollToPart(this);
    this.player?.focus({ preventScroll: true });
  }

  protected override render(): TemplateResult {
    const words = this.say(replayWords);
    const id = shownCell(this.page, selection.cell);
    return html`
      <h2>${words.title}</h2>
      <p class="quiet">${words.intro}</p>
      <div class="panel">
        ${this.#absence(id)}
        ${id === undefined ? html`<p class="quiet">${words.none}</p>` : this.#cell(id)}
      </div>
    `;
  }

  /** The cell of the address may come later, or never. */
  #absence(shown: string | undefined): TemplateResult | typeof nothing {
    const { cell } = selection;
    const { run } = this.page;
    if (cell === undefined || cell === shown || run === undefined) return nothing;
    const { later, never } = this.say(replayWords);
    const isInRun = run.cells.some(({ id }) => id === cell);
    return html`<p role="status"><b>${(isInRun ? later : never)(cell)}</b></p>`;
  }

  #cell(id: string): TemplateResult {
    const steps = store.log.of(id);
    const cell = this.page.run?.cells.find((other) => other.id === id);
    const strategy = cell !== undefined && 'strategy' in cell ? cell.strategy : undefined;
    const now = this.now ?? steps.at(-1)?.at ?? 0;
    return html`
      ${this.#header(id)}
      <div class="columns">
        <div class="picture">
          <timeline-player
            label=${this.say(replayWords).title}
            .steps=${steps}
            .count=${steps.length}
            @moved=${this.#moved}
            @taken=${this.#pin}
          ></timeline-player>
          <timeline-legend></timeline-legend>
          <key-panel .steps=${steps} .now=${now}></key-panel>
        </div>
        <div class="beside">
          <code-panel .strategy=${strategy} .outcome=${this.page.cells[id]?.outcome}></code-panel>
        </div>
      </div>
    `;
  }

  #header(id: string): TemplateResult {
    const words = this.say(replayWords);
    const cell = this.page.run?.cells.find((other) => other.id === id);
    const outcome = this.page.cells[id]?.outcome;
    const tone = outcome === undefined ? 'none' : toneOf(outcome);
    const isLive = runningCells(this.page.cells).includes(id);
    return html`<header>
      <h3>${cell === undefined ? id : titleOf(cell, words, this.texts)}</h3>
      <span class=${tone} role="status">
        ${isLive ? words.following : outcome === undefined ? '' : `${SIGNS[tone]} ${this.say(outcomeWords)[outcome]}`}
      </span>
      ${this.#compare(id)}
      ${selection.cell === undefined || !this.canGoBack ? nothing : html`<button @click=${this.#back}>${words.back}</button>`}
      ${selection.cell === undefined || this.page.tookMs !== undefined ? nothing : html`<button @click=${this.#follow}>${words.follow}</button>`}
    </header>`;
  }

  /** The same fault with the library, beside a strategy that it breaks. */
  #compare(id: string): TemplateResult | typeof nothing {
    const [kind, strategy, ...rest] = id.split('/');
    const other = [kind, strategy === 'redis-lock' ? 'lua-release' : 'redis-lock', ...rest].join(
      '/',
    );
    if (kind === 'part' || this.page.cells[other]?.outcome === undefined) return nothing;
    return html`<button
      @click=${() => {
        selection.choose(other);
      }}
    >
      ${this.say(replayWords).compare(other.split('/')[1] ?? '')}
    </button>`;
  }

  readonly #moved = (): void => {
    this.now = this.player?.now;
  };

  readonly #back = (): void => {
    this.dispatchEvent(new Event('back-to-matrix'));
  };

  readonly #follow = (): void => {
    selection.choose(undefined);
  };

  /** The visitor looks closely at this cell: the run must not replace it. */
  readonly #pin = (): void => {
    if (selection.cell !== undefined) return;
    selection.choose(shownCell(this.page, undefined));
    this.#visit = selection.visits;
  };
}
