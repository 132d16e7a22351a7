import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { oneLine } from '../replay/shown-cell.js';
import { isRunning } from '../state/cells.js';
import { outcomeWords, SIGNS, toneOf } from '../words.js';
import { comparisonWords } from '../words/comparison-words.js';
import { matrixWords } from '../words/matrix-words.js';
import { comparisonsOf } from './comparison.js';
import type { ComparedRow, Comparison } from './comparison.js';

const ABSENT = '–';

/** The callers of each strategy: their waiting time, their Redis commands, and the overtaken buyers. */
@customElement('comparison-view')
export class ComparisonView extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      .panel {
        margin-top: 20px;
      }
      .tables {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr));
        gap: 24px 36px;
        margin-top: 12px;
      }
      table {
        width: 100%;
        align-self: start;
        font-size: 0.8125rem;
        line-height: 1.3;
      }
      caption {
        font-weight: 650;
        text-align: start;
        padding-bottom: 4px;
      }
      thead th {
        font-weight: 500;
        color: var(--muted);
        vertical-align: bottom;
        white-space: pre-line;
      }
      th,
      td {
        padding: 4px 0 4px 8px;
        text-align: end;
      }
      th:first-child {
        padding-inline-start: 0;
      }
      th:first-child,
      th:nth-child(2),
      td:nth-child(2) {
        text-align: start;
      }
      tbody th {
        font-weight: 600;
      }
      td {
        white-space: nowrap;
      }
      tbody tr > * {
        border-top: 1px solid var(--line);
      }
      p {
        max-width: none;
        margin: 14px 0 0;
      }
      @media (max-width: 500px) {
        .panel {
          padding: 12px;
        }
        table {
          font-size: 0.75rem;
        }
        th,
        td {
          padding-inline-start: 6px;
        }
      }
    `,
  ];

  protected override render(): TemplateResult | typeof nothing {
    const words = this.say(comparisonWords);
    const comparisons = comparisonsOf(this.page);
    if (comparisons.length === 0) return nothing;
    return html`<div class="panel">
      <h3>${words.title}</h3>
      <div class="tables">${comparisons.map((comparison) => this.#table(comparison))}</div>
      <p class="small quiet">${words.notes}</p>
    </div>`;
  }

  #table({ processes, rows }: Comparison): TemplateResult {
    const { strategy, processes: crowd } = this.say(matrixWords);
    const { columns } = this.say(comparisonWords);
    return html`<table>
      <caption>
        ${oneLine(crowd(processes))}
      </caption>
      <thead>
        <tr>
          ${[strategy, ...columns].map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => this.#row(row))}
      </tbody>
    </table>`;
  }

  #row({ strategy, cell, figures }: ComparedRow): TemplateResult {
    const { p50Ms, p99Ms, commandsPerOrder, overtaken } = figures ?? {};
    const share = overtaken === undefined ? ABSENT : `${Math.round(overtaken)} %`;
    return html`<tr>
      <th scope="row"><code>${strategy}</code></th>
      <td>${this.#outcome(cell)}</td>
      <td>${milliseconds(p50Ms)}</td>
      <td>${milliseconds(p99Ms)}</td>
      <td>${commandsPerOrder?.toFixed(1) ?? ABSENT}</td>
      <td>${share}</td>
    </tr>`;
  }

  #outcome(cell: ComparedRow['cell']): TemplateResult {
    const words = this.say(matrixWords);
    const outcome = cell?.outcome;
    if (outcome === undefined) {
      const [sign, word] = isRunning(cell) ? ['…', words.running] : ['·', words.pending];
      return html`<span class="quiet" title=${word}
        ><span aria-hidden="true">${sign}</span><span class="hidden">${word}</span></span
      >`;
    }
    const tone = toneOf(outcome);
    return html`<span class=${tone}
      ><span aria-hidden="true">${SIGNS[tone]}</span> ${this.say(outcomeWords)[outcome]}</span
    >`;
  }
}

/** A tenth of a ms is useful only for small values. */
function milliseconds(value: number | undefined): string {
  if (value === undefined) return ABSENT;
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}
