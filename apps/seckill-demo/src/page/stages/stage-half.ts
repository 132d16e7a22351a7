import { html, nothing } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { PartName, PartResult } from '../../arena/parts/part.js';
import type { Step } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';
import { selection } from '../selection.js';
import { isRunning, isSurprise } from '../state/cells.js';
import type { CellState } from '../state/cells.js';
import { store } from '../store.js';
import { outcomeWords, promisedTone, SIGNS } from '../words.js';
import { stageWords } from '../words/stage-words.js';
import { HEIGHT, moveMs, WIDTH } from './scene.js';
import { stageStyles } from './stage-styles.js';
import { PICTURES } from './stages.js';

const TICK_MS = 50;

/** These parts use the lock of the stock; the timeline shows no other lock. */
const ON_THE_TIMELINE: readonly PartName[] = ['queue', 'opening', 'cart', 'fence'];

/** A part of the sale with its lock, or without. It takes almost no time, so it is shown slowly. */
@customElement('stage-half')
export class StageHalf extends ArenaElement {
  static override readonly styles = [look, stageStyles];

  @property() partName: PartName = 'queue';
  @property() which: 'without' | 'with' = 'without';
  /** The number of shown moves. */
  @state() private shown = Infinity;

  #timer: ReturnType<typeof setInterval> | undefined;
  /** The visitor saw it before it was played. */
  #wasAwaited = false;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop();
  }

  play(): void {
    this.#stop();
    let at = 0;
    this.shown = 0;
    this.#timer = setInterval(() => {
      const moves = this.#moves().length;
      at += TICK_MS / moveMs(moves);
      this.shown = Math.floor(at);
      if (at > moves && !isRunning(this.#cell)) this.#stop();
    }, TICK_MS);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.shown = Infinity;
  }

  get #id(): string {
    return `part/${this.partName}/${this.which}`;
  }

  get #cell(): CellState | undefined {
    return this.page.cells[this.#id];
  }

  /** The moves of the picture, in order of time. */
  #moves(): readonly Step[] {
    const { isMovedBy } = PICTURES[this.partName];
    return store.log
      .of(this.#id)
      .filter(isMovedBy)
      .sort((a, b) => a.at - b.at);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    const isThere = this.#cell !== undefined;
    if (isThere && this.#wasAwaited && !preferences.isStill) this.play();
    this.#wasAwaited = !isThere && this.page.run !== undefined;
  }

  protected override render(): TemplateResult {
    const words = this.say(stageWords);
    const cell = this.#cell;
    const isPlayed = this.page.run?.cells.some(({ id }) => id === this.#id) ?? true;
    const separator = this.language === 'zh' ? '' : ' ';
    const tone = cell?.outcome === undefined ? 'none' : promisedTone(cell.outcome, cell.expected);
    return html`<section class="half ${isPlayed ? tone : 'absent'}">
      <h4>${words[this.which]}${separator}${this.texts.partLocks[this.partName]}</h4>
      ${isPlayed ? this.#picture(cell) : html`<p class="quiet small">${words.notPlayed}</p>`}
      ${isPlayed ? this.#verdict(cell) : nothing} ${this.#toTimeline()}
    </section>`;
  }

  #picture(cell: CellState | undefined): TemplateResult {
    const moves = this.#moves();
    const scene = {
      result: this.shown < moves.length ? undefined : partResult(cell),
      withLock: this.which === 'with',
      processes: this.page.run?.processes ?? 2,
      steps: moves.slice(0, this.shown),
    };
    const drawn = PICTURES[this.partName].draw(scene);
    return html`<figure>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">${drawn}</svg>
      <figcaption class="small">
        ${this.say(stageWords).parts[this.partName].pictures[this.which]}
      </figcaption>
    </figure>`;
  }

  #toTimeline(): TemplateResult | typeof nothing {
    if (this.#cell === undefined || !ON_THE_TIMELINE.includes(this.partName)) return nothing;
    return html`<button
      @click=${() => {
        selection.choose(this.#id);
      }}
    >
      ${this.say(stageWords).timeline}
    </button>`;
  }

  #verdict(cell: CellState | undefined): TemplateResult {
    const words = this.say(stageWords);
    const result = partResult(cell);
    if (cell?.outcome === undefined || result === undefined) {
      return html`<p class="verdict quiet">${isRunning(cell) ? words.running : words.pending}</p>`;
    }
    const { outcome, expected } = cell;
    const outcomes = this.say(outcomeWords);
    const tone = promisedTone(outcome, expected);
    const word = tone === 'none' ? words.luck : outcomes[outcome];
    return html`<p class="verdict">
      <b class=${tone}>${SIGNS[tone]} ${word}</b>
      <span class="figure">${this.texts.partFigures(result)}</span>
      ${expected === undefined ? html`<span class="quiet small">${words.measured}</span>` : nothing}
      ${
        isSurprise(cell) && expected !== undefined
          ? html`<b class="surprise">≠ ${words.unlike(outcomes[expected])}</b>`
          : nothing
      }
    </p>`;
  }
}

function partResult(cell: CellState | undefined): PartResult | undefined {
  return cell?.result?.kind === 'part' ? cell.result : undefined;
}
