import { html } from 'lit';
import type { PropertyValues, TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { surfaceOf } from '../canvas.js';
import { laneStyles } from './lane-styles.js';
import { look } from '../look.js';
import { preferences } from '../preferences.js';
import { store } from '../store.js';
import { comma } from '../words.js';
import { duelWords } from '../words/duel-words.js';
import { drawLane } from './draw.js';
import { countsAt, endOf, laneOf, slownessOf } from './lane.js';
import type { Counts, Lane } from './lane.js';
import { dotsAt, layoutOf } from './layout.js';

const NOBODY: Counts = { sold: 0, turnedAway: 0 };

/** One side of the duel, with its own clock. */
@customElement('duel-lane')
export class DuelLane extends ArenaElement {
  static override readonly styles = [look, laneStyles];

  @property() strategy: 'naive' | 'redis-lock' = 'naive';
  @state() private counts = NOBODY;
  @query('canvas') private readonly canvas!: HTMLCanvasElement | null;

  #lane: Lane = laneOf([]);
  #seen = -1;
  #startedAt: number | undefined;
  #slowness = 1;
  #frame = 0;
  #drawn = '';

  override connectedCallback(): void {
    super.connectedCallback();
    if (!preferences.isStill) this.#frame = requestAnimationFrame(this.#tick);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    cancelAnimationFrame(this.#frame);
  }

  replay(): void {
    this.#startedAt = undefined;
    this.counts = NOBODY;
  }

  protected override render(): TemplateResult {
    const words = this.say(duelWords);
    const { name, what } = words.lanes[this.strategy];
    const { sold, turnedAway } = this.counts;
    const { stock } = this.#crowd;
    const label = words.picture(name, sold, stock, turnedAway);
    return html`
      <div class="panel ${sold > stock ? 'oversold' : ''}">
        <header>
          <h2>${name} <code class="quiet">${what}</code></h2>
          <span class="quiet small figure">${this.#isStarted() ? this.#pace() : ''}</span>
        </header>
        <p class="count figure">${this.#count()}</p>
        ${preferences.isStill ? this.#bar() : html`<canvas role="img" aria-label=${label}></canvas>`}
        <p class="verdict figure" aria-live="polite">${this.#verdict()}</p>
      </div>
    `;
  }

  protected override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    this.#readLog();
  }

  get #crowd(): { buyers: number; stock: number } {
    return { buyers: this.page.run?.buyers ?? 300, stock: this.page.run?.stock ?? 100 };
  }

  #count(): TemplateResult {
    const { sold } = this.counts;
    const { stock } = this.#crowd;
    return html`<b class=${sold > stock ? 'harm' : ''}>${sold}</b
      ><span class="quiet"> / ${stock}</span>`;
  }

  /** The time stands only once all answers are shown. */
  #pace(): string {
    const words = this.say(duelWords);
    const { answers, isOver, spanMs } = this.#lane;
    const shown = this.counts.sold + this.counts.turnedAway;
    return isOver && shown === answers.length
      ? words.took(Math.round(spanMs), this.#slowness)
      : words.slowed(this.#slowness);
  }

  #verdict(): TemplateResult | string {
    const words = this.say(duelWords);
    const { stock } = this.#crowd;
    const { sold, turnedAway } = this.counts;
    if (!this.#isStarted()) return words.waiting;
    if (sold > stock) return html`<b class="harm">✕ ${words.oversold(sold - stock)}</b>`;
    const away = turnedAway > 0 ? `${this.say(comma)}${words.turnedAway(turnedAway)}` : '';
    return sold === stock
      ? html`<b class="right">✓ ${words.right}</b>${away}`
      : html`${words.soFar}${away}`;
  }

  /** For visitors who want no motion. */
  #bar(): TemplateResult {
    const { buyers, stock } = this.#crowd;
    const share = (pieces: number): string => `${((100 * pieces) / buyers).toFixed(1)}%`;
    const { sold } = this.counts;
    return html`<div class="bar" aria-hidden="true">
      <i style="width:${share(Math.min(sold, stock))}"></i
      ><i class="over" style="width:${share(Math.max(0, sold - stock))}"></i>
    </div>`;
  }

  #isStarted(): boolean {
    return this.#startedAt !== undefined;
  }

  #readLog(): void {
    const steps = store.log.of(`duel/${this.strategy}`);
    if (steps.length === this.#seen) return;
    if (steps.length < this.#seen) this.replay();
    this.#seen = steps.length;
    this.#lane = laneOf(steps);
    if (preferences.isStill) this.#showAll();
  }

  #showAll(): void {
    if (this.#lane.answers.length > 0) this.#startedAt = 0;
    this.counts = countsAt(this.#lane, Infinity, this.#slowness);
  }

  /** Draws the next frame. A slowed lane keeps its pace while more steps arrive. */
  readonly #tick = (now: number): void => {
    this.#frame = requestAnimationFrame(this.#tick);
    if (this.#startedAt === undefined && this.#lane.answers.length > 0) {
      this.#startedAt = now;
      this.#slowness = slownessOf(this.#lane);
    }
    const shownMs = this.#startedAt === undefined ? 0 : now - this.#startedAt;
    const counts = countsAt(this.#lane, this.#isStarted() ? shownMs : -1, this.#slowness);
    if (counts.sold !== this.counts.sold || counts.turnedAway !== this.counts.turnedAway) {
      this.counts = counts;
    }
    this.#draw(shownMs);
  };

  /** Whether the picture differs from the last one; a lane at rest is not drawn again. */
  #isAnew(shownMs: number, { clientWidth }: HTMLCanvasElement): boolean {
    const shown = Math.min(shownMs, endOf(this.#lane, this.#slowness));
    const { language, theme } = preferences;
    const { buyers, stock } = this.#crowd;
    const facts = [shown, this.#seen, this.#slowness, clientWidth, buyers, stock, language, theme];
    const picture = facts.join(' ');
    const isAnew = picture !== this.#drawn;
    this.#drawn = picture;
    return isAnew;
  }

  #draw(shownMs: number): void {
    if (this.canvas === null || !this.#isAnew(shownMs, this.canvas)) return;
    const surface = surfaceOf(this.canvas);
    if (surface === undefined) return;
    const words = this.say(duelWords);
    const layout = layoutOf(surface.width, surface.height, this.#crowd.buyers);
    const lane = this.#isStarted() ? this.#lane : laneOf([]);
    const time = {
      shownMs: Math.min(shownMs, endOf(lane, this.#slowness)),
      slowness: this.#slowness,
    };
    drawLane(surface, layout, dotsAt(layout, lane, this.#crowd, time), {
      crowd: words.crowd,
      stock: words.stock(this.#crowd.stock),
      beyond: words.beyond,
      away: words.away,
    });
  }
}
