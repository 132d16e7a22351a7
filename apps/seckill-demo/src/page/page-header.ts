import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { LESSONS } from '../lessons/lessons.js';
import type { Lesson } from '../lessons/lessons.js';
import { lessonText } from '../lessons/lesson-texts.js';
import { ArenaElement } from './arena-element.js';
import { look } from './look.js';
import { preferences } from './preferences.js';
import { addressOf, selection } from './selection.js';
import { connection } from './sources/connection.js';
import { runningCells } from './state/cells.js';
import { titleOf } from './replay/shown-cell.js';
import { comma } from './words.js';
import { lessonWords } from './words/lesson-words.js';
import { pageWords } from './words/page-words.js';
import type { PagePart } from './words/page-words.js';
import { replayWords } from './words/replay-words.js';

/** Stays at the top: the contents, and the progress of the run or the place of the lesson. */
@customElement('page-header')
export class PageHeader extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      :host {
        position: sticky;
        top: 0;
        z-index: 3;
        margin: 0 calc(50% - 50vw);
        padding: 8px calc(50vw - 50%) 6px;
        background: var(--ground);
        border-bottom: 1px solid var(--line);
      }
      .row {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        justify-content: space-between;
        gap: 2px 20px;
      }
      nav,
      ol {
        display: flex;
        gap: 2px 16px;
        font-size: 0.875rem;
        overflow-x: auto;
      }
      a {
        color: var(--muted);
        padding: 6px 0;
        text-decoration: none;
        white-space: nowrap;
      }
      a:hover,
      a[aria-current] {
        color: var(--text);
        text-decoration: underline;
      }
      a:focus-visible {
        outline-offset: -3px;
      }
      b a {
        color: inherit;
      }
      .switches {
        display: flex;
        gap: 8px;
      }
      /* Its height is fixed: a longer text would move the page. */
      .status {
        display: flex;
        gap: 0 12px;
        height: 26px;
        align-items: center;
        font-size: 0.8125rem;
        white-space: nowrap;
      }
      .now {
        min-width: 0;
        overflow: hidden;
        text-overflow: ellipsis;
      }
      progress {
        width: 120px;
        height: 6px;
        accent-color: var(--accent);
      }
      ol {
        gap: 4px;
        margin: 0;
        padding: 0;
        list-style: none;
      }
      ol a {
        display: block;
        min-width: 26px;
        padding: 1px 6px;
        text-align: center;
        border: 1px solid var(--line);
        border-radius: 6px;
      }
      ol a[aria-current] {
        border-color: var(--accent);
        font-weight: 650;
        text-decoration: none;
      }
      @media (max-width: 700px) {
        nav {
          order: 3;
          width: 100%;
          gap: 2px 11px;
          font-size: 0.8125rem;
        }
        .status {
          flex-wrap: wrap;
          height: 52px;
        }
        .now {
          width: 100%;
        }
        progress {
          width: 60px;
        }
      }
    `,
  ];

  /** The parts of the page in this run. */
  @property({ attribute: false }) parts: readonly PagePart[] = [];

  protected override render(): TemplateResult {
    const words = this.say(pageWords);
    const { lesson, isPlayground } = selection;
    return html`<header>
      <div class="row">
        <b>${this.#name()}</b>
        <nav aria-label=${words.contents}>
          <a
            href=${addressOf.lesson(lesson?.number ?? 1)}
            aria-current=${lesson === undefined ? nothing : 'page'}
            >${this.say(lessonWords).lessons}</a
          >
          <a href=${addressOf.part('playground')} aria-current=${isPlayground ? 'page' : nothing}
            >${words.playground}</a
          >
          ${this.parts.map((part) => html`<a href=${addressOf.part(part)}>${words.parts[part]}</a>`)}
        </nav>
        <div class="switches">${this.#switches()}</div>
      </div>
      ${isPlayground ? nothing : lesson === undefined ? this.#status() : this.#lessons(lesson)}
    </header>`;
  }

  /** On the site it leads back to the docs. */
  #name(): TemplateResult | string {
    const { docs } = document.documentElement.dataset;
    const name = 'nestjs-redis-lock';
    if (docs === undefined) return name;
    return html`<a href="${docs}${this.language === 'zh' ? 'zh/' : ''}">${name}</a>`;
  }

  #status(): TemplateResult {
    const words = this.say(pageWords);
    const { state } = connection;
    const isGood = state === 'live' || state === 'recorded';
    return html`<div class="status quiet">
      <span role="status"
        ><span class=${isGood ? 'right' : ''} aria-hidden="true">${isGood ? '●' : '○'}</span>
        ${words.connection[state]}</span
      >
      ${this.#progress()}
    </div>`;
  }

  #progress(): TemplateResult | typeof nothing {
    const words = this.say(pageWords);
    const { run, cells, tookMs } = this.page;
    if (run === undefined) return nothing;
    const done = run.cells.filter(({ id }) => cells[id]?.outcome !== undefined).length;
    const progress = words.progress(done, run.cells.length);
    const running = runningCells(cells);
    const names = run.cells
      .filter(({ id }) => running.includes(id))
      .map((cell) => titleOf(cell, this.say(replayWords), this.texts));
    const now = names.length === 0 ? '' : words.playing(names.join(this.say(comma)));
    return html`<progress max=${run.cells.length} .value=${done} aria-label=${progress}></progress>
      <span class="figure">${progress}</span>
      <span class="now">${tookMs === undefined ? now : words.allPlayed}</span>`;
  }

  #lessons({ number }: Lesson): TemplateResult {
    const { place, lessons } = this.say(lessonWords);
    return html`<div class="status quiet">
      <span>${place(number, LESSONS.length)}</span>
      <ol aria-label=${lessons}>
        ${LESSONS.map(
          (lesson) =>
            html`<li>
              <a
                href=${addressOf.lesson(lesson.number)}
                title=${lessonText(lesson.number, this.language).title}
                aria-current=${lesson.number === number ? 'step' : nothing}
                >${lesson.number}</a
              >
            </li>`,
        )}
      </ol>
    </div>`;
  }

  #switches(): TemplateResult {
    const words = this.say(pageWords);
    const isDark = preferences.theme === 'dark';
    return html`
      <button lang=${this.language === 'en' ? 'zh-CN' : 'en'} @click=${this.#switchLanguage}>
        ${words.otherLanguage}
      </button>
      <button @click=${this.#switchTheme}>${isDark ? words.light : words.dark}</button>
    `;
  }

  readonly #switchLanguage = (): void => {
    preferences.language = preferences.language === 'en' ? 'zh' : 'en';
  };

  readonly #switchTheme = (): void => {
    preferences.theme = preferences.theme === 'dark' ? 'light' : 'dark';
  };
}
