import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { controlStyles } from '../control-styles.js';
import { look } from '../look.js';
import { pageWords } from '../words/page-words.js';
import { recording } from './recording.js';

const SPEEDS = [0.25, 1, 4, 16] as const;

/** Plays a recorded run, at the chosen speed. */
@customElement('recording-bar')
export class RecordingBar extends ArenaElement {
  static override readonly styles = [
    look,
    controlStyles,
    css`
      :host {
        position: sticky;
        bottom: 12px;
        z-index: 2;
      }
      .bar {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 8px 12px;
        padding: 6px 10px;
        box-shadow: 0 4px 24px rgb(0 0 0 / 14%);
      }
      input {
        flex: 1 1 80px;
      }
      @media (max-width: 500px) {
        .bar {
          gap: 8px;
        }
        input {
          flex-basis: 50px;
        }
      }
    `,
  ];

  #endSubscription: (() => void) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#endSubscription = recording.subscribe(() => {
      this.requestUpdate();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#endSubscription?.();
  }

  protected override render(): TemplateResult {
    const words = this.say(pageWords).player;
    const word = recording.isPlaying ? words.pause : words.play;
    const seconds = (ms: number, digits: number): string => (ms / 1_000).toFixed(digits);
    return html`<div class="panel bar" role="group" aria-label=${words.name}>
      <button class="main" aria-label=${word} @click=${this.#toggle}>
        ${recording.isPlaying ? '❚❚' : '▶'} <span class="word">${word}</span>
      </button>
      <input
        type="range"
        min=${Math.floor(recording.start)}
        max=${Math.ceil(recording.end)}
        aria-label=${words.position}
        .value=${String(Math.round(recording.now))}
        @input=${this.#seek}
      />
      <span class="figure small"
        >${seconds(recording.now - recording.start, 1)} /
        ${seconds(recording.end - recording.start, 0)} s</span
      >
      <select aria-label=${words.speed} @change=${this.#setSpeed}>
        ${SPEEDS.map((speed) => html`<option value=${speed} ?selected=${speed === recording.speed}>${speed}×</option>`)}
      </select>
    </div>`;
  }

  readonly #toggle = (): void => {
    if (recording.isPlaying) recording.pause();
    else recording.play();
  };

  readonly #seek = ({ target }: InputEvent): void => {
    if (target instanceof HTMLInputElement) recording.seek(target.valueAsNumber);
  };

  readonly #setSpeed = ({ target }: Event): void => {
    if (target instanceof HTMLSelectElement) recording.speed = Number(target.value);
  };
}
