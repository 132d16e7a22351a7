import { html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Outcome } from '../../arena/cell.js';
import type { StrategyName } from '../../strategies/strategy.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { replayWords } from '../words/replay-words.js';
import { blameOf } from './blame.js';
import type { Blame } from './blame.js';
import { codeLines } from './code.js';
import { codeStyles } from './code-styles.js';

/** The strategy as in its source file, with the line that decides the outcome. */
@customElement('code-panel')
export class CodePanel extends ArenaElement {
  static override readonly styles = [look, codeStyles];

  @property() strategy: StrategyName | undefined;
  @property() outcome: Outcome | undefined;

  protected override render(): TemplateResult {
    const words = this.say(replayWords);
    const { strategy, outcome } = this;
    const source = strategy === undefined ? undefined : this.page.run?.sources[strategy];
    if (strategy === undefined || source === undefined) {
      return html`<h3>${words.code}</h3>
        <p class="quiet">${words.noCode}</p>`;
    }
    const blame = outcome === undefined ? undefined : blameOf(strategy, outcome);
    return html`
      <h3>${words.code} <code class="quiet">strategies/${strategy}.ts</code></h3>
      ${
        outcome !== undefined && blame === undefined
          ? html`<p class="quiet small">${words.unmarked}</p>`
          : nothing
      }
      <pre tabindex="0" role="group" aria-label=${words.code}>${this.#lines(source, blame)}</pre>
    `;
  }

  #lines(source: string, blame: Blame | undefined): TemplateResult[] {
    return codeLines(source).map(({ number, text }) => {
      const isMeant = blame !== undefined && text.includes(blame.line);
      if (!isMeant) return html`<span class="line"><i>${number}</i>${text}</span>`;
      return html`<span class="line ${blame.isHarm ? 'blamed' : 'praised'}"
          ><i>${blame.isHarm ? '✕' : '✓'} ${number}</i>${text}</span
        >${this.#why(blame)}`;
    });
  }

  #why({ isHarm, why }: Blame): TemplateResult | typeof nothing {
    return html`<span class="why ${isHarm ? 'harm blamed' : 'right praised'}"
      >${why[this.language]}</span
    >`;
  }
}
