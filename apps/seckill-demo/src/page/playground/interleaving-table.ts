import { css, html } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Step } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { interleavingWords } from '../words/interleaving-words.js';
import { playgroundWords } from '../words/playground-words.js';
import { timelineWords } from '../words/timeline-words.js';

/** Every step of the run in words. The step at the playhead is marked, and in view: at the end, the one that broke it. */
@customElement('interleaving-table')
export class InterleavingTable extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .scroll {
        max-height: 320px;
        overflow: auto;
        border: 1px solid var(--line);
        border-radius: 8px;
      }
      table {
        width: 100%;
        font-size: 0.8125rem;
      }
      th,
      td {
        padding: 3px 12px;
        text-align: start;
        font-weight: 400;
      }
      th {
        color: var(--muted);
      }
      .later {
        color: var(--muted);
      }
      .reached {
        background: var(--accent-soft);
      }
      .broken {
        background: var(--harm-soft);
        color: var(--harm);
        font-weight: 600;
      }
    `,
  ];

  @property({ attribute: false }) steps: readonly Step[] = [];
  @property({ attribute: false }) now = Infinity;
  /** The step that broke the run. */
  @property({ attribute: false }) guilty: Step | undefined;

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    const told = this.steps.filter((step) => this.#say(step) !== undefined);
    const reached = told.findLastIndex(({ at }) => at <= this.now);
    return html`<h3>${words.interleaving}</h3>
      <div class="scroll" tabindex="0" role="group" aria-label=${words.interleaving}>
        <table>
          <thead>
            <tr>
              ${words.columns.map((column) => html`<th scope="col">${column}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${told.map((step, index) => {
              const place = index === reached ? 'reached' : index > reached ? 'later' : '';
              return this.#row(step, step === this.guilty ? `${place} broken` : place);
            })}
          </tbody>
        </table>
      </div>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (!changed.has('now') && !changed.has('steps')) return;
    const meant = this.now === Infinity ? '.broken' : '.reached';
    const row = this.renderRoot.querySelector<HTMLElement>(meant);
    const box = row?.closest<HTMLElement>('.scroll');
    if (row && box) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }

  #row(step: Step, place: string): TemplateResult {
    const process = 'process' in step ? step.process : undefined;
    return html`<tr class=${place}>
      <td>${step.at.toFixed(1)}</td>
      <td>${process ?? ''}</td>
      <td>${'buyer' in step ? step.buyer : ''}</td>
      <td>${this.#say(step)}</td>
    </tr>`;
  }

  #say(step: Step): string | TemplateResult | undefined {
    const words = this.say(interleavingWords);
    switch (step.kind) {
      case 'passed':
        return words.points[step.point];
      case 'lock':
        return words.locks[step.event];
      case 'struck':
        return words.struck[step.what];
      case 'answered': {
        const { reason } = step;
        const text = words.answered(this.say(timelineWords).answer(step.answer));
        return reason === undefined ? text : html`${text} <code>${reason}</code>`;
      }
      default:
        return undefined;
    }
  }
}
