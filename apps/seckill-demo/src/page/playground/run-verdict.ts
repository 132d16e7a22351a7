import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Run } from '../../playground/run.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { playgroundWords } from '../words/playground-words.js';

/** How a run ended, and why. */
@customElement('run-verdict')
export class RunVerdict extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .verdict {
        font-size: 1.0625rem;
        font-weight: 600;
        margin: 0 0 4px;
      }
    `,
  ];

  @property({ attribute: false }) run!: Run;

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    const { verdict, orders, pieces } = this.run;
    const isSafe = verdict === 'safe';
    return html`<div role="status">
      <p class="verdict ${isSafe ? 'right' : 'harm'}">
        ${isSafe ? '✓' : '✕'} ${words.verdicts[verdict]}
      </p>
      <p>
        ${[...this.#why(), words.books(orders, pieces)].join(this.language === 'zh' ? '' : ' ')}
      </p>
    </div>`;
  }

  #why(): string[] {
    const words = this.say(playgroundWords);
    const { verdict, oversold } = this.run;
    if (oversold === undefined) return verdict === 'stuck' ? [words.stuck] : [];
    const { piece, callers, late, thief } = oversold;
    const what = words.oversold(piece, ...callers);
    if (late === undefined) return [what];
    return [what, thief === undefined ? words.late(late) : words.thief(thief, late)];
  }
}
