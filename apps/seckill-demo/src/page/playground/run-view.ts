import { css, html, nothing } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { MOST_FAULTS, struckAfter } from '../../playground/experiment.js';
import type { Fault } from '../../playground/experiment.js';
import type { Run } from '../../playground/run.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';
import '../replay/key-panel.js';
import { replayStyles } from '../replay/replay-styles.js';
import '../replay/timeline-legend.js';
import '../replay/timeline-player.js';
import type { TimelinePlayer } from '../replay/timeline-player.js';
import { experimentWords } from '../words/experiment-words.js';
import { playgroundWords } from '../words/playground-words.js';
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
  @query('timeline-player') private readonly player!: TimelinePlayer | null;

  /** A visitor may want no motion. */
  #plays = !preferences.isStill;
  /** The moment of a strike: the next run is the same until then. */
  #struckAt: number | undefined;

  /** Shows the run of a new experiment from its start, and one with a new fault from its moment. */
  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('run')) return;
    this.#plays ||= this.player?.isPlaying ?? false;
    this.player?.stop(this.#struckAt);
    this.#struckAt = undefined;
  }

  protected override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    if (!changed.has('run') || !this.#plays) return;
    this.#plays = false;
    this.player?.play(this.now);
  }

  protected override render(): TemplateResult {
    const words = this.say(playgroundWords);
    const { steps, guilty } = this.run;
    const now = this.now ?? Infinity;
    return html`
      <h2>${words.run}</h2>
      <run-verdict .run=${this.run}></run-verdict>
      <div class="columns">
        <div class="picture">
          <timeline-player
            label=${words.run}
            .steps=${steps}
            .count=${steps.length}
            .processes=${this.#processes}
            @moved=${this.#moved}
          ></timeline-player>
          ${this.#hands()}
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
            .guilty=${guilty}
          ></source-panel>
          <interleaving-table .steps=${steps} .now=${now} .guilty=${guilty}></interleaving-table>
        </div>
      </div>
    `;
  }

  get #processes(): readonly number[] {
    return Array.from({ length: this.run.experiment.processes }, (_, i) => i + 1);
  }

  #hands(): TemplateResult {
    const words = this.say(playgroundWords);
    const hint = this.#hint();
    const button = (kind: Fault['kind'], process: number) =>
      html`<button
        aria-disabled=${hint !== undefined || this.#isDead(process)}
        @click=${this.#strike(kind, process)}
      >
        ${kind === 'kill' ? `✕ ${words.plug(process)}` : `❄ ${words.freeze(process)}`}
      </button>`;
    return html`<div role="group" aria-label=${words.hands}>
      <div class="hands">
        ${this.#processes.flatMap((process) => [
          button('kill', process),
          button('freeze', process),
        ])}
      </div>
      ${hint === undefined ? nothing : html`<p class="quiet small">${hint}</p>`}
    </div>`;
  }

  /** The reason why no process can be struck. */
  #hint(): string | undefined {
    if (this.now === undefined) return this.say(playgroundWords).handsHint;
    const isFull = this.run.experiment.faults.length === MOST_FAULTS;
    return isFull ? this.say(experimentWords).full(MOST_FAULTS) : undefined;
  }

  #isDead(process: number): boolean {
    const { now = Infinity } = this;
    return this.run.steps.some(
      (step) =>
        step.kind === 'struck' &&
        step.what === 'killed' &&
        step.process === process &&
        step.at <= now,
    );
  }

  #strike(kind: Fault['kind'], process: number): () => void {
    return () => {
      if (this.now === undefined || this.#hint() !== undefined || this.#isDead(process)) return;
      const { experiment } = this.run;
      const changed = struckAfter(experiment, this.now, { kind, process });
      this.#plays = !preferences.isStill;
      // Its address has it rounded.
      this.#struckAt = changed.faults.find((one) => !experiment.faults.includes(one))?.at;
      this.dispatchEvent(new ExperimentEvent(changed));
    };
  }

  get #end(): number {
    return this.run.steps.at(-1)?.at ?? 0;
  }

  readonly #moved = (): void => {
    this.now = this.player?.now;
  };

  /** From its start, unless the visitor wants no motion. */
  playFromStart(): void {
    this.#plays = !preferences.isStill;
    this.player?.stop();
  }
}
