import { html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import type { Cell } from '../arena/cell.js';
import { lessonText } from '../lessons/lesson-texts.js';
import { ArenaElement } from './arena-element.js';
import './duel/duel-view.js';
import { pageStyles } from './page-styles.js';
import './hands/hands-view.js';
import './lesson/lesson-view.js';
import './live/live-view.js';
import { look } from './look.js';
import './matrix/comparison-view.js';
import './matrix/matrix-view.js';
import type { MatrixView } from './matrix/matrix-view.js';
import './page-header.js';
import './playground/playground-place.js';
import './replay/replay-view.js';
import { titleOf } from './replay/shown-cell.js';
import { scrollToPart } from './scroll-to-part.js';
import { addressOf, selection } from './selection.js';
import { connection } from './sources/connection.js';
import './sources/recording-bar.js';
import { recording } from './sources/recording.js';
import './stages/locks-view.js';
import { pageWords } from './words/page-words.js';
import type { PagePart } from './words/page-words.js';
import { replayWords } from './words/replay-words.js';

const PARTS: readonly PagePart[] = ['duel', 'matrix', 'replay', 'live', 'hands', 'locks'];
/** The cells of a part. The page leaves out a part without cells in this run. */
const CELLS_OF: Readonly<Partial<Record<PagePart, ReadonlyArray<Cell['kind']>>>> = {
  duel: ['duel'],
  matrix: ['rush', 'fault'],
  replay: ['duel', 'rush', 'fault', 'part'],
  locks: ['part'],
};

/** The whole page: a lesson; or the arena, from the duel to the commands of a visitor. */
@customElement('arena-page')
export class ArenaPage extends ArenaElement {
  static override readonly styles = [look, pageStyles];

  /** The visit that was shown last, and whether its run was known. */
  #shown = '';
  /** The recording plays on after the lessons and the playground. */
  #isHeld = false;

  protected override render(): TemplateResult {
    return html`
      <page-header .parts=${this.#parts}></page-header>
      <main>${this.#place()}</main>
    `;
  }

  protected override updated(): void {
    document.title = this.#title;
    this.#holdRecording();
    const shown = `${selection.visits} ${this.page.run === undefined ? '' : 'with its run'}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (selection.lesson !== undefined) scrollTo({ top: 0, behavior: 'instant' });
    this.#showPart();
  }

  #place(): TemplateResult {
    const { lesson, isPlayground } = selection;
    if (isPlayground) return html`<playground-place></playground-place>`;
    return lesson === undefined
      ? this.#arena()
      : html`<lesson-view .lesson=${lesson}></lesson-view>`;
  }

  /** The name of a lesson, a cell or the playground comes first: a tab has little room. */
  get #title(): string {
    const { arena, playground } = this.say(pageWords);
    const { lesson, cell, isPlayground } = selection;
    if (isPlayground) return `${playground} · ${arena}`;
    if (lesson !== undefined) {
      const { title } = lessonText(lesson.number, this.language);
      return `${lesson.number} ${title} · ${arena}`;
    }
    const known = this.page.run?.cells.find(({ id }) => id === cell);
    if (known === undefined) return arena;
    return `${titleOf(known, this.say(replayWords), this.texts)} · ${arena}`;
  }

  #arena(): TemplateResult {
    const words = this.say(pageWords);
    const { run } = this.page;
    return html`
      <h1>${words.headline(run?.buyers ?? 300, run?.stock ?? 100)}</h1>
      ${this.#section('duel', html`${this.#lead()}<duel-view></duel-view>${this.#waysOn()}`)}
      ${this.#section('matrix', html`<matrix-view></matrix-view><comparison-view></comparison-view>`)}
      ${this.#section('replay', html`<replay-view .canGoBack=${this.#parts.includes('matrix')} @back-to-matrix=${this.#toMatrix}></replay-view>`)}
      ${this.#section('live', html`<live-view></live-view>`)}
      ${this.#section('hands', html`<hands-view></hands-view>`)}
      ${this.#section('locks', html`<locks-view></locks-view>`)}
      ${connection.state === 'recorded' ? html`<recording-bar></recording-bar>` : nothing}
    `;
  }

  #section(part: PagePart, content: TemplateResult): TemplateResult | typeof nothing {
    return this.#parts.includes(part) ? html`<section id=${part}>${content}</section>` : nothing;
  }

  get #parts(): readonly PagePart[] {
    const { run } = this.page;
    return PARTS.filter((part) => {
      const kinds = CELLS_OF[part];
      return !run || !kinds || run.cells.some(({ kind }) => kinds.includes(kind));
    });
  }

  #lead(): TemplateResult {
    const words = this.say(pageWords);
    const lead = connection.state === 'recorded' ? words.recordedLead : words.lead;
    return html`<p class="quiet">${lead}</p>`;
  }

  #waysOn(): TemplateResult {
    const words = this.say(pageWords);
    const { run, cells } = this.page;
    const duel = run?.cells.filter(({ kind }) => kind === 'duel') ?? [];
    const isOver = duel.length > 0 && duel.every(({ id }) => cells[id]?.outcome !== undefined);
    return html`<p class="ways">
      ${
        this.#parts.includes('matrix')
          ? html`<a class=${isOver ? 'main' : ''} href=${addressOf.part('matrix')}
              >${words.toMatrix(isOver)}</a
            >`
          : nothing
      }
      <a href=${addressOf.lesson(1)}>${words.toLessons}</a>
    </p>`;
  }

  /** A lesson plays its own cell, and the playground its own run: meanwhile the recording waits. */
  #holdRecording(): void {
    if (selection.lesson === undefined && !selection.isPlayground) {
      if (this.#isHeld) recording.play();
      this.#isHeld = false;
    } else if (recording.isPlaying) {
      recording.pause();
      this.#isHeld = true;
    }
  }

  /** The parts are in a shadow tree, where the browser does not find a fragment. */
  #showPart(): void {
    const { part } = selection;
    if (part === undefined || !this.#parts.some((known) => known === part)) return;
    const section = this.renderRoot.querySelector(`#${part}`);
    if (section !== null) scrollToPart(section);
  }

  readonly #toMatrix = (): void => {
    this.renderRoot.querySelector<MatrixView>('matrix-view')?.focusCell();
  };
}
