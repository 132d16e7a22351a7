import { css, html, nothing } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { withFault } from '../../playground/experiment.js';
import type { Fault } from '../../playground/experiment.js';
import type { Run } from '../../playground/run.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';
import '../replay/key-panel.js';
import { PACES, playedTo } from '../replay/playback.js';
import type { Pace } from '../replay/playback.js';
import { replayStyles } from '../replay/replay-styles.js';
import '../replay/timeline-legend.js';
import '../timeline/holders-timeline.js';
import type { HoldersTimeline } from '../timeline/holders-timeline.js';
import { playgroundWords } from '../words/playground-words.js';
import { replayWords } from '../words/replay-words.js';
import { ExperimentEvent } from './experiment-event.js';
import './interleaving-table.js';
import './run-verdict.js';
import './source-panel.js';

/** A run on its timeline. The visitor plays it, and kills or freezes a process at the playhead. */
@customElement('run-view')
export class RunView extends ArenaElement {
  static override readonly styles = [
    look,
    replayStyles,
    css`
      .hands {
        display: flex;
        flex-wrap: wrap;
        gap: 8px;
        margin: 12px 0;
      }
      interleaving-table {
        margin-top: 20px;
      }
    `,
  ];

  @property({ attribute: false }) run!: Run;
  @property() source = '';
  /** The position of the playhead; undefined: at the end. */
  @state() private now: number | undefined;
  @state() private isPlaying = false;
  @state() private pace: Pace = 'slow';
  @query('holders-timeline') private readonly timeline!: HoldersTimeline | null;

  #frame = 0;
  /** A visitor may want no motion. */
  #plays = !preferences.isStill;
  /** The next run begins as this one until the playhead. */
  #keepsPlace = false;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    cancelAnimationFrame(this.#frame);
  }

  /** Shows the run of a new experiment from its start, and one with a new fault from its moment. */
  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('run')) return;
    this.#plays ||= this.isPlaying;
    this.#stop(this.#keepsPlace ? this.now : undefined);
    this.#keepsPlace = false;
  }

  protected override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    if (!changed.has('run') || !this.#plays) return;
    this.#plays = false;
    this.#play(this.now ?? -Infinity);
  }

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    const { steps, experiment, brokenAt } = this.run;
    const now = this.now ?? Infinity;
    const processes = Array.from({ length: experiment.processes }, (_, i) => i + 1);
    return html`
      <h2>${words.run}</h2>
      <run-verdict .run=${this.run}></run-verdict>
      <div class="columns">
        <div class="picture">
          <holders-timeline
            .steps=${steps}
            .count=${steps.length}
            .now=${now}
            .processes=${processes}
          ></holders-timeline>
          ${this.#controls()} ${this.#hands(processes)}
          <timeline-legend></timeline-legend>
          ${
            steps.some(({ kind }) => kind === 'key')
              ? html`<key-panel .steps=${steps} .now=${this.now ?? this.#end}></key-panel>`
              : nothing
          }
        </div>
        <div class="beside">
          <source-panel
            .source=${this.source}
            .steps=${steps}
            .now=${now}
            .brokenAt=${brokenAt}
          ></source-panel>
          <interleaving-table
            .steps=${steps}
            .now=${now}
            .brokenAt=${brokenAt}
          ></interleaving-table>
        </div>
      </div>
    `;
  }

  #controls(): TemplateResult {
    const words = { ...this.say(replayWords), ...this.say(playgroundWords) };
    const share = this.now === undefined ? 1 : (this.timeline?.scale.shareOf(this.now) ?? 1);
    return html`<div class="controls" role="group" aria-label=${words.run}>
      <button class="main" @click=${this.#toggle}>
        ${this.isPlaying ? `❚❚ ${words.pause}` : `▶ ${words.play}`}
      </button>
      <button aria-label=${words.back} @click=${this.#back}>◂</button>
      <button aria-label=${words.forward} @click=${this.#forward}>▸</button>
      <input
        type="range"
        min="0"
        max="1000"
        aria-label=${words.position}
        .value=${String(Math.round(share * 1_000))}
        @input=${this.#seek}
      />
      <select aria-label=${words.speed} @change=${this.#setPace}>
        ${PACES.map(
          (pace) =>
            html`<option value=${pace} ?selected=${pace === this.pace}>
              ${pace === 'slow' ? words.slow : `${pace}×`}
            </option>`,
        )}
      </select>
    </div>`;
  }

  #hands(processes: readonly number[]): TemplateResult {
    const words = this.say(playgroundWords);
    const isOff = this.now === undefined;
    const button = (kind: Fault['kind'], process: number) =>
      html`<button
        aria-disabled=${isOff}
        @click=${() => {
          this.#strike(kind, process);
        }}
      >
        ${kind === 'kill' ? `✕ ${words.plug(process)}` : `❄ ${words.freeze(process)}`}
      </button>`;
    return html`<div role="group" aria-label=${words.hands}>
      <div class="hands">
        ${processes.flatMap((process) => [button('kill', process), button('freeze', process)])}
      </div>
      ${isOff ? html`<p class="quiet small">${words.handsHint}</p>` : nothing}
    </div>`;
  }

  #strike(kind: Fault['kind'], process: number): void {
    if (this.now === undefined) return;
    const { experiment } = this.run;
    const ms = kind === 'kill' ? 0 : Math.round(experiment.leaseMs * 1.5);
    const fault = { kind, process, at: Math.max(0, this.now), ms };
    this.#plays = !preferences.isStill;
    this.#keepsPlace = true;
    this.dispatchEvent(new ExperimentEvent(withFault(experiment, fault)));
  }

  get #end(): number {
    return this.run.steps.at(-1)?.at ?? 0;
  }

  #play(from: number): void {
    cancelAnimationFrame(this.#frame);
    this.isPlaying = true;
    let last = performance.now();
    let now = from;
    const advance = (time: number): void => {
      const { timeline } = this;
      if (timeline === null) return;
      now = Math.max(now, timeline.timeline.from);
      now = playedTo(now, time - last, this.pace, timeline.scale);
      last = time;
      if (now >= timeline.timeline.to) {
        this.#stop(undefined);
        return;
      }
      this.now = now;
      this.#frame = requestAnimationFrame(advance);
    };
    this.#frame = requestAnimationFrame(advance);
  }

  #stop(now: number | undefined): void {
    cancelAnimationFrame(this.#frame);
    this.isPlaying = false;
    this.now = now;
  }

  readonly #toggle = (): void => {
    if (this.isPlaying) this.#stop(this.now);
    else this.#play(this.now ?? -Infinity);
  };

  readonly #back = (): void => {
    const now = this.now ?? Infinity;
    const before = this.run.steps.findLast(({ at }) => at < now);
    this.#stop(before?.at ?? this.now);
  };

  readonly #forward = (): void => {
    const now = this.now ?? -Infinity;
    this.#stop(this.run.steps.find(({ at }) => at > now)?.at);
  };

  readonly #seek = ({ target }: InputEvent): void => {
    if (!(target instanceof HTMLInputElement) || this.timeline === null) return;
    const share = target.valueAsNumber / 1_000;
    this.#stop(share === 1 ? undefined : this.timeline.scale.timeOf(share));
  };

  readonly #setPace = ({ target }: Event): void => {
    if (!(target instanceof HTMLSelectElement)) return;
    this.pace = PACES.find((pace) => String(pace) === target.value) ?? 'slow';
  };

  /** From its start, unless the visitor wants no motion. */
  playFromStart(): void {
    this.#plays = !preferences.isStill;
    this.#stop(undefined);
  }
}
