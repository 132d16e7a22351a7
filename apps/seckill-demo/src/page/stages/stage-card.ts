import { html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { PartName, PartResult } from '../../arena/parts/part.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { selection } from '../selection.js';
import { isRunning, isSurprise } from '../state/cells.js';
import type { CellState } from '../state/cells.js';
import { store } from '../store.js';
import { outcomeWords, SIGNS, toneOf } from '../words.js';
import { stageWords } from '../words/stage-words.js';
import { HEIGHT, WIDTH } from './scene.js';
import { stageStyles } from './stage-styles.js';
import { PICTURES } from './stages.js';

/** A part of the sale, without its lock on the left and with it on the right. */
@customElement('stage-card')
export class StageCard extends ArenaElement {
  static override readonly styles = [look, stageStyles];

  @property() partName: PartName = 'queue';

  protected override render(): TemplateResult {
    const words = this.say(stageWords).parts[this.partName];
    return html`<article class="panel">
      <h3>${words?.title ?? this.partName}</h3>
      <p class="quiet small">${words?.why}</p>
      <div class="halves">${this.#half('without')} ${this.#half('with')}</div>
    </article>`;
  }

  #half(which: 'without' | 'with'): TemplateResult {
    const words = this.say(stageWords);
    const id = `part/${this.partName}/${which}`;
    const cell = this.page.cells[id];
    const lock = this.texts.partLocks[this.partName];
    const isPlayed = this.page.run?.cells.some((other) => other.id === id) ?? true;
    const separator = this.language === 'zh' ? '' : ' ';
    const tone = cell?.outcome === undefined ? 'none' : toneOf(cell.outcome);
    return html`<section class="half ${isPlayed ? tone : 'absent'}">
      <h4>${words[which]}${separator}${lock}</h4>
      ${isPlayed ? this.#picture(id, which, cell) : html`<p class="quiet small">${words.notPlayed}</p>`}
      ${isPlayed ? this.#verdict(cell) : nothing} ${this.#toTimeline(id)}
    </section>`;
  }

  #picture(id: string, which: 'without' | 'with', cell: CellState | undefined): TemplateResult {
    const draw = PICTURES[this.partName];
    if (draw === undefined) return html``;
    const label = this.say(stageWords).parts[this.partName]?.pictures[which] ?? '';
    const scene = {
      result: partResult(cell),
      isRunning: isRunning(cell),
      withLock: which === 'with',
      steps: store.log.of(id),
    };
    return html`<figure>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">${draw(scene)}</svg>
      <figcaption class="small">${label}</figcaption>
    </figure>`;
  }

  /** Where orders were seen at the lock of the stock, too. */
  #toTimeline(id: string): TemplateResult | typeof nothing {
    if (!store.log.of(id).some(({ kind }) => kind === 'passed')) return nothing;
    return html`<button
      @click=${() => {
        selection.choose(id);
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
    const tone = toneOf(outcome);
    const outcomes = this.say(outcomeWords);
    return html`<p class="verdict">
      <b class=${tone}>${SIGNS[tone]} ${outcomes[outcome]}</b>
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
