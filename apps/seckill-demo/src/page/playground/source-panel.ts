import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Step } from '../../arena/step.js';
import type { GatePoint } from '../../seckill/gate.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { codeStyles } from '../replay/code-styles.js';
import { playgroundWords } from '../words/playground-words.js';

/** The call that an order has reached, by its text. */
const CALLS: Readonly<Partial<Record<GatePoint, RegExp>>> = {
  'lock-set': /\.setnx\(|'NX'|\.using\(/,
  'before-read': /await read\(/,
  'before-write': /await write\(/,
  'before-delete': /\.del\(|\.eval\(/,
};

/** The code of the strategy, with the call of the latest step. */
@customElement('source-panel')
export class SourcePanel extends ArenaElement {
  static override readonly styles = [
    look,
    codeStyles,
    css`
      pre span {
        display: block;
        padding: 0 12px;
        min-width: max-content;
        min-height: 1.6em;
      }
      .reached {
        background: var(--accent-soft);
        box-shadow: inset 4px 0 0 var(--accent);
      }
      .broken {
        background: var(--harm-soft);
        box-shadow: inset 4px 0 0 var(--harm);
      }
    `,
  ];

  @property() source = '';
  @property({ attribute: false }) steps: readonly Step[] = [];
  @property({ attribute: false }) now = Infinity;
  /** The step that broke the run. At the end, its call is marked. */
  @property({ attribute: false }) guilty: Step | undefined;

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    const guilty = this.now === Infinity ? this.guilty : undefined;
    const call = callOf(
      guilty ?? this.steps.findLast((step) => step.at <= this.now && isCall(step)),
    );
    const mark = guilty === undefined ? 'reached' : 'broken';
    return html`<h3>${words.code}</h3>
      <pre tabindex="0" role="group" aria-label=${words.code}>
${this.source
          .split('\n')
          .map(
            (line) =>
              html`<span class="line ${call?.test(line) === true ? mark : ''}">${line}</span>`,
          )}</pre>`;
  }
}

/** A death leaves the key that the acquisition has written. */
function callOf(step: Step | undefined): RegExp | undefined {
  return step?.kind === 'passed' ? CALLS[step.point] : step && CALLS['lock-set'];
}

function isCall(step: Step): boolean {
  return step.kind === 'passed' && CALLS[step.point] !== undefined;
}
