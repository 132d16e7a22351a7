import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { codeDifference } from '../../lessons/code-difference.js';
import type { ComparedLine } from '../../lessons/code-difference.js';
import { LESSONS } from '../../lessons/lessons.js';
import type { Lesson } from '../../lessons/lessons.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { blameOf } from '../replay/blame.js';
import { codeStyles } from '../replay/code-styles.js';
import { lessonWords } from '../words/lesson-words.js';

/** The lines of a lesson, and their difference to the lesson before. */
@customElement('lesson-code')
export class LessonCode extends ArenaElement {
  static override readonly styles = [
    look,
    codeStyles,
    css`
      pre {
        padding: 8px 0;
        margin: 4px 0 10px;
      }
      .line {
        padding: 0 12px 0 2.6em;
        min-width: 0;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      .line i {
        width: 2em;
        margin-inline-start: -2em;
        padding: 0;
        text-align: start;
      }
      .added i {
        color: var(--accent);
        font-weight: 700;
      }
      .removed {
        color: var(--muted);
        text-decoration: line-through;
      }
      .why {
        padding-inline-start: 2.6em;
        max-width: none;
      }
    `,
  ];

  @property({ attribute: false }) lesson!: Lesson;
  /** The event that decides the outcome has happened. */
  @property({ type: Boolean }) isDecided = false;

  protected override render(): TemplateResult {
    const words = this.say(lessonWords);
    const { number, strategy, code, sale = [] } = this.lesson;
    const before = LESSONS[number - 2]?.code;
    const lines = before === undefined ? kept(code) : codeDifference(before, code);
    return html`
      <div class="small quiet">
        <code>strategies/${strategy}.ts</code> ${before === undefined ? nothing : words.difference}
      </div>
      <pre tabindex="0" role="group" aria-label=${words.code}>
${lines.map((line) => this.#line(line))}</pre>
      ${
        sale.length === 0
          ? nothing
          : html`<div class="small quiet"><code>seckill/sale.ts</code></div>
              <pre tabindex="0" role="group" aria-label=${words.sale}>
${kept(sale).map((line) => this.#line(line))}</pre>`
      }
    `;
  }

  #line({ text, sign }: ComparedLine): TemplateResult {
    const { strategy, outcome } = this.lesson;
    const blame = this.isDecided ? blameOf(strategy, outcome) : undefined;
    const shown = html`<i>${sign}</i>${text}`;
    if (blame === undefined || sign === '−' || !text.includes(blame.line)) {
      const look = sign === '+' ? 'added' : sign === '−' ? 'removed' : '';
      return html`<span class="line ${look}">${shown}</span>`;
    }
    const look = blame.isHarm ? 'blamed' : 'praised';
    return html`<span class="line ${look}">${shown}</span
      ><span class="why ${look} ${blame.isHarm ? 'harm' : 'right'}" role="status"
        >${blame.isHarm ? '✕' : '✓'} ${blame.why[this.language]}</span
      >`;
  }
}

function kept(code: readonly string[]): ComparedLine[] {
  return code.map((text) => ({ text, sign: ' ' }));
}
