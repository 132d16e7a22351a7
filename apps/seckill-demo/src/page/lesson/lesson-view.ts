import { html, nothing } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { Step } from '../../arena/step.js';
import { lessonText } from '../../lessons/lesson-texts.js';
import { LESSONS } from '../../lessons/lessons.js';
import type { Lesson } from '../../lessons/lessons.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';
import { eachFrame } from '../replay/playback.js';
import { addressOf } from '../selection.js';
import { connection } from '../sources/connection.js';
import '../timeline/holders-timeline.js';
import type { HoldersTimeline } from '../timeline/holders-timeline.js';
import { timelineOf } from '../timeline/timeline.js';
import { outcomeWords, SIGNS, toneOf } from '../words.js';
import { lessonWords } from '../words/lesson-words.js';
import { narrationWords } from '../words/narration-words.js';
import './lesson-code.js';
import { lessonStyles } from './lesson-styles.js';
import { decisiveEvent, narrationOf } from './narration.js';
import type { Told } from './narration.js';
import { recordedCell } from './recorded-cell.js';
import { timeAt } from './story-time.js';

const EVENT_MS = 1_800;
/** The first event comes sooner. */
const BEGINS_AT = 0.6;

/** One lesson: the tutorial's chapter and code, and the recorded cell in which it fails, or holds. */
@customElement('lesson-view')
export class LessonView extends ArenaElement {
  static override readonly styles = [look, lessonStyles];

  @property({ attribute: false }) lesson!: Lesson;
  @state() private steps: readonly Step[] | 'loading' | 'missing' = 'loading';
  /** The number of events so far; the fraction leads to the next one. */
  @state() private passed = 0;
  @state() private isPlaying = false;
  @query('holders-timeline') private readonly timeline!: HoldersTimeline | null;

  #endFrames: () => void = () => undefined;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop(0);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    super.willUpdate(changed);
    if (changed.has('lesson')) void this.#load(this.lesson);
  }

  async #load(lesson: Lesson): Promise<void> {
    this.#stop(0);
    this.steps = 'loading';
    const steps = await recordedCell(lesson.cell.id).catch(() => 'missing' as const);
    if (lesson === this.lesson) this.steps = steps;
  }

  protected override render(): TemplateResult {
    const { lesson, steps } = this;
    const story = typeof steps === 'string' ? [] : this.#story(steps);
    const happened = story.slice(0, Math.floor(this.passed));
    const decisive = decisiveEvent(story, lesson.outcome);
    const isDecided = decisive >= 0 && happened.length > decisive;
    return html`
      <h1><span class="quiet">${lesson.number}</span> ${this.#text.title}</h1>
      <div class="columns">
        <div>
          ${this.#chapter()}
          <lesson-code .lesson=${lesson} ?isDecided=${isDecided}></lesson-code>
          ${this.#asides()} ${this.#question()}
        </div>
        <div>
          <div class="panel">
            ${typeof steps === 'string' ? html`<p class="quiet">${this.say(lessonWords)[steps]}</p>` : this.#cell(steps, story)}
            ${this.#events(happened, decisive)}
          </div>
        </div>
      </div>
      ${this.#ways()}
    `;
  }

  get #text() {
    return lessonText(this.lesson.number, this.language);
  }

  #story(steps: readonly Step[]): Told[] {
    const processes = timelineOf(steps).lanes.map(({ process }) => process);
    return narrationOf(steps, processes, this.say(narrationWords));
  }

  #chapter(): TemplateResult {
    const words = this.say(lessonWords);
    const { says, quote } = this.#text;
    return html`<p><b class="quiet">${words.chapter(this.lesson.chapter)}</b><br />${says}</p>
      ${
        quote === undefined
          ? nothing
          : html`<blockquote class="small">
              “${quote[0]}”<cite class="quiet">${words.quoted(quote[1])}</cite>
            </blockquote>`
      }`;
  }

  #asides(): Array<TemplateResult | typeof nothing> {
    const { asides = [] } = this.lesson;
    return asides.map(({ id }, place) =>
      this.page.run?.cells.some((cell) => cell.id === id) === true
        ? html`<a class="small aside" href=${addressOf.cell(id)}>${this.#text.asides?.[place]}</a>`
        : nothing,
    );
  }

  #question(): TemplateResult {
    const { question, answer } = this.#text;
    return html`<details class="question">
      <summary><b>${this.say(lessonWords).question}</b> ${question}</summary>
      <p>${answer}</p>
    </details>`;
  }

  #cell(steps: readonly Step[], story: readonly Told[]): TemplateResult {
    const words = this.say(lessonWords);
    const isOver = this.passed >= story.length;
    const now = isOver ? Infinity : timeAt(this.passed, story, this.timeline?.scale);
    return html`
      <div class="controls">
        <button class="main" @click=${this.#toggle}>
          ${this.isPlaying ? `❚❚ ${words.pause}` : `▶ ${this.#holds ? words.hold : words.fail}`}
        </button>
        <button ?disabled=${isOver} @click=${this.#step}>${words.step}</button>
        <span class="small quiet">${isOver ? this.#verdict() : this.#hint()}</span>
      </div>
      <holders-timeline .steps=${steps} .count=${steps.length} .now=${now}></holders-timeline>
    `;
  }

  #hint(): string {
    const words = this.say(lessonWords);
    if (this.lesson.cell.kind === 'part') return words.price;
    return this.lesson.cell.kind === 'rush' ? words.two : words.idle;
  }

  get #holds(): boolean {
    return toneOf(this.lesson.outcome) === 'right';
  }

  #verdict(): TemplateResult {
    const { outcome } = this.lesson;
    const tone = toneOf(outcome);
    return html`<b class=${tone}>${SIGNS[tone]} ${this.say(outcomeWords)[outcome]}</b>`;
  }

  #events(happened: readonly Told[], decisive: number): TemplateResult {
    const good = this.#holds ? 'good' : '';
    return html`<ol aria-live="polite" aria-label=${this.say(lessonWords).events}>
      ${happened.map(({ sentence }, place) => html`<li class=${place === decisive ? `decisive ${good}` : ''}>${sentence}</li>`)}
    </ol>`;
  }

  #ways(): TemplateResult {
    const words = this.say(lessonWords);
    const { number } = this.lesson;
    if (number < LESSONS.length) {
      return html`<div class="ways">
        <a class="main" href=${addressOf.lesson(number + 1)}>${words.next}</a>
      </div>`;
    }
    const hasMatrix = this.page.run?.cells.some(({ kind }) => kind === 'rush' || kind === 'fault');
    const toMatrix = html`<a class="main" href=${addressOf.part('matrix')}>${words.toMatrix}</a>`;
    const toShop = html`<a href=${addressOf.part('hands')}>${words.toShop}</a>`;
    return html`<div class="ways">
      ${hasMatrix === true ? toMatrix : nothing} ${connection.state === 'live' ? toShop : nothing}
      <a href=${addressOf.part('playground')}>${words.toPlayground}</a>
      <a href=${addressOf.lesson(1)}>${words.again}</a>
    </div>`;
  }

  readonly #toggle = (): void => {
    if (this.isPlaying) this.#stop(this.passed);
    else this.#play();
  };

  readonly #step = (): void => {
    this.#stop(Math.floor(this.passed) + 1);
  };

  #play(): void {
    if (typeof this.steps === 'string') return;
    const { length } = this.#story(this.steps);
    if (preferences.isStill) {
      this.#stop(length);
      return;
    }
    this.#endFrames();
    this.isPlaying = true;
    if (this.passed === 0 || this.passed >= length) this.passed = BEGINS_AT;
    this.#endFrames = eachFrame((passedMs) => {
      const passed = Math.min(length, this.passed + passedMs / EVENT_MS);
      if (passed === length) this.#stop(passed);
      else this.passed = passed;
      return this.isPlaying;
    });
  }

  #stop(passed: number): void {
    this.#endFrames();
    this.isPlaying = false;
    this.passed = passed;
  }
}
