import { LitElement } from 'lit';
import type { Language, Texts } from '../arena/texts.js';
import { texts } from '../arena/languages.js';
import { preferences } from './preferences.js';
import { selection } from './selection.js';
import { connection } from './sources/connection.js';
import type { PageState } from './state.js';
import { store } from './store.js';
import type { InBoth } from './words.js';

/** Renders again after new steps, a chosen cell, or a change of language. */
export abstract class ArenaElement extends LitElement {
  readonly #subscriptions: Array<() => void> = [];

  override connectedCallback(): void {
    super.connectedCallback();
    const draw = () => {
      this.requestUpdate();
    };
    for (const seen of [store, preferences, selection, connection]) {
      this.#subscriptions.push(seen.subscribe(draw));
    }
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const end of this.#subscriptions.splice(0)) end();
  }

  protected get page(): PageState {
    return store.state;
  }

  protected get language(): Language {
    return preferences.language;
  }

  /** The terminal's words for strategies, faults and outcomes. The page uses the same words. */
  protected get texts(): Texts {
    return texts[preferences.language];
  }

  protected say<Words>(words: InBoth<Words>): Words {
    return words[preferences.language];
  }
}
