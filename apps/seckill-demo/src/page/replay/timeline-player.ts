import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { Step } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { controlStyles } from '../control-styles.js';
import { look } from '../look.js';
import '../timeline/holders-timeline.js';
import type { HoldersTimeline } from '../timeline/holders-timeline.js';
import { replayWords } from '../words/replay-words.js';
import { eachFrame, PACES, playedTo } from './playback.js';
import type { Pace } from './playback.js';

/**
 * A timeline that the visitor plays, at a chosen speed or step by step. `moved`: the playhead has
 * another position. `taken`: the visitor begins to play, to step or to seek.
 */
@customElement('timeline-player')
export class TimelinePlayer extends ArenaElement {
  static override readonly styles = [
    look,
    controlStyles,
    css`
      .controls {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 8px;
        margin: 14px 0 8px;
      }
      input {
        flex: 1 1 60px;
      }
    `,
  ];

  @property({ attribute: false }) steps: readonly Step[] = [];
  /** A change of their number means new steps. */
  @property({ attribute: false }) count = 0;
  /** Each has a lane, even without events. */
  @property({ attribute: false }) processes: readonly number[] = [];
  /** The name of the controls. */
  @property() label = '';
  @state() private position: number | undefined;
  @state() private isRunning = false;
  @state() private pace: Pace = 'slow';
  @query('holders-timeline') private readonly timeline!: HoldersTimeline | null;
  @query('.main') private readonly button!: HTMLElement | null;

  #endFrames: () => void = () => undefined;

  /** The position of the playhead; undefined: at the latest step. */
  get now(): number | undefined {
    return this.position;
  }

  get isPlaying(): boolean {
    return this.isRunning;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#endFrames();
  }

  /** A player that the page has just made has no button yet. */
  override focus(options?: FocusOptions): void {
    void this.updateComplete.then(() => this.button?.focus(options));
  }

  play(from = -Infinity): void {
    this.#endFrames();
    this.isRunning = true;
    let now = from;
    this.#endFrames = eachFrame((passedMs) => {
      const { timeline } = this;
      if (timeline === null) return false;
      const { from: start, to } = timeline.timeline;
      now = playedTo(Math.max(now, start), passedMs, this.pace, timeline.scale);
      if (now >= to) this.stop();
      else this.#move(now);
      return this.isRunning;
    });
  }

  stop(now?: number): void {
    this.#endFrames();
    this.isRunning = false;
    this.#move(now);
  }

  #move(now: number | undefined): void {
    this.position = now;
    this.dispatchEvent(new Event('moved'));
  }

  protected override render(): TemplateResult {
    const words = this.say(replayWords);
    const { position, steps } = this;
    const share = position === undefined ? 1 : (this.timeline?.scale.shareOf(position) ?? 1);
    const word = this.isRunning ? words.pause : words.play;
    return html`<holders-timeline
        .steps=${steps}
        .count=${this.count}
        .now=${position ?? Infinity}
        .processes=${this.processes}
      ></holders-timeline>
      <div class="controls" role="group" aria-label=${this.label}>
        <button class="main" aria-label=${word} @click=${this.#toggle}>
          ${this.isRunning ? '❚❚' : '▶'} <span class="word">${word}</span>
        </button>
        <button
          aria-label=${words.stepBack}
          aria-disabled=${this.#before === -Infinity}
          @click=${this.#stepBack}
        >
          ◂
        </button>
        <button aria-label=${words.stepOn} @click=${this.#stepOn}>▸</button>
        <input
          type="range"
          min="0"
          max="1000"
          aria-label=${words.position}
          .value=${String(Math.round(share * 1_000))}
          @input=${this.#seek}
        />
        <select aria-label=${words.speed} @change=${this.#setPace}>
          ${PACES.map((pace) => html`<option value=${pace} ?selected=${pace === this.pace}>${this.#paceName(pace)}</option>`)}
        </select>
      </div>`;
  }

  #paceName(pace: Pace): string {
    if (pace === 'slow') return this.say(replayWords).slow;
    return pace === 0.25 ? '¼×' : pace === 0.05 ? '1/20×' : `${pace}×`;
  }

  /** The moment of the step before the playhead. Steps of another process may be late. */
  get #before(): number {
    const now = this.position ?? Infinity;
    return Math.max(...this.steps.map(({ at }) => at).filter((at) => at < now));
  }

  #take(): void {
    this.dispatchEvent(new Event('taken'));
  }

  readonly #toggle = (): void => {
    if (this.isRunning) {
      this.stop(this.position);
      return;
    }
    this.#take();
    this.play(this.position);
  };

  readonly #stepBack = (): void => {
    const before = this.#before;
    if (before === -Infinity) return;
    this.#take();
    this.stop(before);
  };

  readonly #stepOn = (): void => {
    this.#take();
    const now = this.position ?? -Infinity;
    const next = Math.min(...this.steps.map(({ at }) => at).filter((at) => at > now));
    this.stop(next === Infinity ? undefined : next);
  };

  readonly #seek = ({ target }: InputEvent): void => {
    if (!(target instanceof HTMLInputElement) || this.timeline === null) return;
    this.#take();
    const share = target.valueAsNumber / 1_000;
    this.stop(share === 1 ? undefined : this.timeline.scale.timeOf(share));
  };

  readonly #setPace = ({ target }: Event): void => {
    if (!(target instanceof HTMLSelectElement)) return;
    this.pace = PACES.find((pace) => String(pace) === target.value) ?? 'slow';
  };
}
