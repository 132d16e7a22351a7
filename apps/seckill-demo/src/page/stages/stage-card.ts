import { html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property, queryAll } from 'lit/decorators.js';
import type { PartName } from '../../arena/parts/part.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { colon } from '../words.js';
import { stageWords } from '../words/stage-words.js';
import './stage-half.js';
import type { StageHalf } from './stage-half.js';
import { stageStyles } from './stage-styles.js';

/** A part of the sale, without its lock on the left and with it on the right. */
@customElement('stage-card')
export class StageCard extends ArenaElement {
  static override readonly styles = [look, stageStyles];

  @property() partName: PartName = 'queue';
  @queryAll('stage-half') private readonly halves!: NodeListOf<StageHalf>;

  protected override render(): TemplateResult {
    const { again, parts } = this.say(stageWords);
    const { title, why } = parts[this.partName];
    const half = (which: 'without' | 'with') =>
      html`<stage-half .partName=${this.partName} .which=${which}></stage-half>`;
    return html`<article class="panel">
      <header>
        <h3>${title}</h3>
        <button
          aria-label=${`${again}${this.say(colon)}${title}`}
          ?disabled=${!this.#isPlayed}
          @click=${this.#playAgain}
        >
          ▶ ${again}
        </button>
      </header>
      <p class="quiet small">${why}</p>
      <div class="halves">${half('without')} ${half('with')}</div>
    </article>`;
  }

  get #isPlayed(): boolean {
    return this.page.cells[`part/${this.partName}/with`]?.endedAt !== undefined;
  }

  readonly #playAgain = (): void => {
    for (const half of this.halves) half.play();
  };
}
