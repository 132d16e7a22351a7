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
import '../timeline/holders-timeline.js';
import type { HoldersTimeline } from '../timeline/holders-timeline.js';
import { outcomeWords, SIGNS, toneOf } from '../words.js';
import { replayWords } from '../words/replay-words.js';
import './code-panel.js';
import './key-panel.js';
import { eachFrame, PACES, playedTo } from './playback.js';
import type { Pace } from './playback.js';
import { replayStyles } from './replay-styles.js';
import { shownCell, titleOf } from './shown-cell.js';
import './timeline-legend.js';

/** The visitor wants to choose another cell. */
export const BACK_TO_MATRIX = 'back-to-matrix';

/** One cell, live or replayed: its timeline, its key, and the code of its strategy. */
@customElement('replay-view')
export class ReplayView extends ArenaElement {
  static override readonly styles = [look, replayStyles];

  /** The run has a matrix. */
  @property({ type: Boolean }) canGoBack = false;
  /** The position of the playhead; undefined: at the latest step. */
  @state() private now: number | undefined;
  @state() private isPlaying = false;
  @state() private pace: Pace = 'slow';
  @query('holders-timeline') private readonly timeline!: HoldersTimeline | null;

  #chosen: string | undefined;
  #endFrames: () => void = () => undefined;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#endFrames();
  }

  protected override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    if (this.#chosen === selection.cell || this.page.run === undefined) return;
    this.#chosen = selection.cell;
    if (this.#chosen === undefined) {
      this.#stop(undefined);
      return;
    }
    const isPlayed = this.page.cells[this.#chosen]?.outcome !== undefined;
    if (preferences.isStill || !isPlayed) this.#stop(undefined);
    else this.#play(-Infinity);
    scrollToPart(this);
    this.renderRoot.querySelector<HTMLElement>('.controls button')?.focus({ preventScroll: true });
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
          <holders-timeline
            .steps=${steps}
            .count=${steps.length}
            .now=${this.now ?? Infinity}
          ></holders-timeline>
          ${this.#controls()}
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

  #controls(): TemplateResult {
    const words = this.say(replayWords);
    const share = this.now === undefined ? 1 : (this.timeline?.scale.shareOf(this.now) ?? 1);
    return html`<div class="controls" role="group" aria-label=${words.title}>
      <button class="main" @click=${this.#toggle}>
        ${this.isPlaying ? `❚❚ ${words.pause}` : `▶ ${words.play}`}
      </button>
      <input
        type="range"
        min="0"
        max="1000"
        aria-label=${words.position}
        .value=${String(Math.round(share * 1_000))}
        @input=${this.#seek}
      />
      <select aria-label=${words.speed} @change=${this.#setPace}>
        ${PACES.map((pace) => html`<option value=${pace} ?selected=${pace === this.pace}>${this.#paceName(pace)}</option>`)}
      </select>
    </div>`;
  }

  #paceName(pace: Pace): string {
    if (pace === 'slow') return this.say(replayWords).slow;
    return pace === 0.25 ? '¼×' : pace === 0.05 ? '1/20×' : `${pace}×`;
  }

  #play(from: number): void {
    this.#endFrames();
    this.isPlaying = true;
    let now = from;
    this.#endFrames = eachFrame((passedMs) => {
      const { timeline } = this;
      if (timeline === null) return false;
      const { from: start, to } = timeline.timeline;
      now = playedTo(Math.max(now, start), passedMs, this.pace, timeline.scale);
      if (now >= to) this.#stop(undefined);
      else this.now = now;
      return this.isPlaying;
    });
  }

  #stop(now: number | undefined): void {
    this.#endFrames();
    this.isPlaying = false;
    this.now = now;
  }

  readonly #toggle = (): void => {
    if (this.isPlaying) {
      this.#stop(this.now);
      return;
    }
    this.#pin();
    this.#play(this.now ?? -Infinity);
  };

  readonly #seek = ({ target }: InputEvent): void => {
    if (!(target instanceof HTMLInputElement) || this.timeline === null) return;
    this.#pin();
    this.#stop(this.timeline.scale.timeOf(target.valueAsNumber / 1_000));
  };

  readonly #setPace = ({ target }: Event): void => {
    if (!(target instanceof HTMLSelectElement)) return;
    this.pace = PACES.find((pace) => String(pace) === target.value) ?? 'slow';
  };

  readonly #back = (): void => {
    this.dispatchEvent(new Event(BACK_TO_MATRIX));
  };

  readonly #follow = (): void => {
    selection.choose(undefined);
  };

  /** The visitor looks closely at this cell: the run must not replace it. */
  #pin(): void {
    if (selection.cell !== undefined) return;
    this.#chosen = shownCell(this.page, undefined);
    selection.choose(this.#chosen);
  }
}
