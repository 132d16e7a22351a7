import { html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { pageWords } from '../words/page-words.js';

/** Loads the playground when a visitor opens it. */
@customElement('playground-place')
export class PlaygroundPlace extends ArenaElement {
  static override readonly styles = [look];

  @state() private phase: 'loading' | 'failed' | 'open' = 'loading';

  override connectedCallback(): void {
    super.connectedCallback();
    scrollTo({ top: 0, behavior: 'instant' });
    void this.#load();
  }

  protected override render(): TemplateResult {
    if (this.phase === 'open') return html`<playground-page></playground-page>`;
    const words = this.say(pageWords);
    if (this.phase === 'loading') return html`<p role="status">${words.loading}</p>`;
    return html`<p role="status">${words.failed}</p>
      <button @click=${this.#reload}>${words.again}</button>`;
  }

  async #load(): Promise<void> {
    try {
      await import('./playground-page.js');
      this.phase = 'open';
    } catch {
      this.phase = 'failed';
    }
  }

  /** A browser keeps a failed import; only a new page tries it again. */
  readonly #reload = (): void => {
    location.reload();
  };
}
