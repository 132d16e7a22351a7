import { html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { LESSONS, lessonOf } from '../../lessons/lessons.js';
import { STRATEGY_NAMES } from '../../options/names.mjs';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { oneLine } from '../replay/shown-cell.js';
import { addressOf, selection } from '../selection.js';
import { isRunning, isSurprise } from '../state/cells.js';
import type { CellState } from '../state/cells.js';
import type { StrategyName } from '../../strategies/strategy.js';
import { colon, comma, outcomeWords, SIGNS, toneOf } from '../words.js';
import { lessonWords } from '../words/lesson-words.js';
import { matrixWords } from '../words/matrix-words.js';
import { matrixStyles } from './matrix-styles.js';
import { matrixOf } from './model.js';
import type { Column, Matrix, MatrixCell, Row } from './model.js';

const ARROWS: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Strategies in rows, the rush and the faults in columns. The cells fill during the run. */
@customElement('matrix-view')
export class MatrixView extends ArenaElement {
  static override readonly styles = [look, matrixStyles];

  /** The cell that the tab key reaches; the arrow keys lead to the others. */
  #entry: string | undefined;

  protected override render(): TemplateResult {
    const words = this.say(matrixWords);
    const matrix = matrixOf(this.page.run?.cells ?? []);
    return html`
      <h2>${words.title(matrix.rows.length || STRATEGY_NAMES.length)}</h2>
      <p class="quiet">${words.intro}</p>
      ${matrix.rows.length === 0 ? html`<p class="panel quiet">${words.empty}</p>` : this.#table(matrix)}
      ${this.#legend()}
    `;
  }

  #table(matrix: Matrix): TemplateResult {
    const words = this.say(matrixWords);
    const ids = matrix.rows.flatMap(({ cells }) => cells.flatMap((cell) => cell?.id ?? []));
    const entry = this.#entry !== undefined && ids.includes(this.#entry) ? this.#entry : ids[0];
    return html`<div class="scroll panel" tabindex="-1">
      <table @keydown=${this.#move}>
        <thead>
          <tr>
            <th scope="col">${words.strategy}</th>
            ${matrix.columns.map((column) => html`<th scope="col">${this.#heading(column)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${matrix.rows.map((row) => this.#row(row, matrix.columns, entry))}
        </tbody>
      </table>
    </div>`;
  }

  #heading(column: Column): string {
    return column.kind === 'rush'
      ? this.say(matrixWords).processes(column.processes)
      : oneLine(this.texts.faults[column.fault]);
  }

  #row(
    { strategy, cells }: Row,
    columns: readonly Column[],
    entry: string | undefined,
  ): TemplateResult {
    const names = columns.map((column) => oneLine(this.#heading(column)));
    return html`<tr>
      <th scope="row">
        ${this.#lesson(strategy)}<code>${strategy}</code
        ><span class="quiet">${this.texts.strategies[strategy]}</span>
      </th>
      ${cells.map((cell, place) => html`<td>${cell === undefined ? nothing : this.#cell(cell, `${strategy}${this.say(comma)}${names[place]}`, entry)}</td>`)}
    </tr>`;
  }

  /** A stage of the tutorial has the number of its lesson. */
  #lesson(strategy: StrategyName): TemplateResult | typeof nothing {
    const lesson = lessonOf(strategy);
    if (lesson === undefined) return nothing;
    const name = this.say(lessonWords).place(lesson.number, LESSONS.length);
    return html`<a href=${addressOf.lesson(lesson.number)} aria-label=${name} title=${name}
      >${lesson.number}</a
    >`;
  }

  #cell(cell: MatrixCell, name: string, entry: string | undefined): TemplateResult {
    const words = this.say(matrixWords);
    const outcomes = this.say(outcomeWords);
    const played = this.page.cells[cell.id];
    const { outcome, expected } = played ?? {};
    const tone =
      outcome === undefined ? (isRunning(played) ? 'running' : 'pending') : toneOf(outcome);
    const isUnlike = played !== undefined && isSurprise(played);
    const word =
      outcome === undefined ? words[isRunning(played) ? 'running' : 'pending'] : outcomes[outcome];
    const unlike =
      isUnlike && expected !== undefined ? words.unlike(outcomes[expected]) : undefined;
    const full = unlike === undefined ? word : `${word}${this.say(comma)}${unlike}`;
    return html`<button
      class="${tone} ${isUnlike ? 'surprise' : ''}"
      data-cell=${cell.id}
      tabindex=${cell.id === entry ? 0 : -1}
      aria-pressed=${selection.cell === cell.id}
      aria-disabled=${!isReplayable(played)}
      aria-label=${`${name}${this.say(colon)}${full}`}
      title=${unlike ?? word}
      @click=${this.#choose}
      @focus=${this.#enter}
    >
      <span aria-hidden="true">${isUnlike ? '≠' : signOf(tone)}</span>
      ${tone === 'pending' || tone === 'none' ? html`<span class="hidden">${word}</span>` : word}${unlike === undefined ? nothing : html`<span class="hidden">${this.say(comma)}${unlike}</span>`}
    </button>`;
  }

  #legend(): TemplateResult {
    const words = this.say(matrixWords);
    const cells = matrixOf(this.page.run?.cells ?? []).rows.flatMap((row) => row.cells);
    const played = cells.flatMap((cell) =>
      cell === undefined ? [] : (this.page.cells[cell.id] ?? []),
    );
    const done = played.filter(({ outcome }) => outcome !== undefined);
    const surprises = done.filter(isSurprise).length;
    const all = cells.filter((cell) => cell !== undefined).length;
    return html`<div class="legend small quiet">
      <span class="figure" role="status">
        ${words.progress(done.length, all)}${this.page.tookMs === undefined ? '' : words.took(Math.round(this.page.tookMs / 1_000))}${
          done.length === 0
            ? ''
            : html`${this.say(comma)}${surprises === 0 ? words.noSurprise : html`<b class="harm">${words.surprises(surprises)}</b>`}`
        }
      </span>
      <span><b class="right">✓</b> ${words.legend.right}</span>
      <span><b class="harm">✕</b> ${words.legend.harm}</span>
      <span><b>–</b> ${words.legend.none}</span>
      <span><b>≠</b> ${words.legend.surprise}</span>
      ${done.length === all ? nothing : html`<span><b>·</b> ${words.legend.pending}</span>`}
    </div>`;
  }

  /** Returns to the cell that the visitor left. */
  focusCell(): void {
    this.renderRoot.querySelector<HTMLElement>('button[tabindex="0"]')?.focus();
  }

  readonly #choose = ({ currentTarget }: MouseEvent): void => {
    const id = cellOf(currentTarget);
    if (id !== undefined && isReplayable(this.page.cells[id])) selection.choose(id);
  };

  readonly #enter = ({ currentTarget }: FocusEvent): void => {
    this.#entry = cellOf(currentTarget);
    this.requestUpdate();
  };

  readonly #move = (event: KeyboardEvent): void => {
    const arrow = ARROWS[event.key];
    if (arrow === undefined || this.#entry === undefined) return;
    event.preventDefault();
    const rows = [...this.renderRoot.querySelectorAll('tbody tr')].map((row) => [
      ...row.querySelectorAll<HTMLElement>('td'),
    ]);
    const row = rows.findIndex((cells) =>
      cells.some((cell) => cellOf(cell.firstElementChild) === this.#entry),
    );
    const column =
      rows[row]?.findIndex((cell) => cellOf(cell.firstElementChild) === this.#entry) ?? 0;
    rows[row + arrow[0]]?.[column + arrow[1]]?.querySelector('button')?.focus();
  };
}

/** A cell that has begun, unless it plays nothing. */
function isReplayable(cell: CellState | undefined): boolean {
  return cell !== undefined && cell.outcome !== 'none';
}

function cellOf(target: EventTarget | null): string | undefined {
  return target instanceof HTMLElement ? target.dataset['cell'] : undefined;
}

function signOf(tone: 'right' | 'harm' | 'none' | 'running' | 'pending'): string {
  if (tone === 'running') return '…';
  return tone === 'pending' ? '·' : SIGNS[tone];
}
