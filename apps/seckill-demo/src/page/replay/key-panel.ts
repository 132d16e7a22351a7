import { css, html, nothing } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Step } from '../../arena/step.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { keyAt, lookAt } from '../timeline/key.js';
import type { KeyNow } from '../timeline/key.js';
import { colon } from '../words.js';
import { timelineWords } from '../words/timeline-words.js';
import { replayWords } from '../words/replay-words.js';

/** The lock in Redis at one moment, with its running TTL. */
@customElement('key-panel')
export class KeyPanel extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      code {
        font-size: 0.8125rem;
        overflow-wrap: anywhere;
      }
      dl {
        display: grid;
        grid-template-columns: max-content 1fr;
        gap: 4px 14px;
        margin: 8px 0 0;
        font-size: 0.875rem;
      }
      dt {
        color: var(--muted);
      }
      dd {
        margin: 0;
        min-width: 0;
      }
      ol {
        margin: 0;
        padding-inline-start: 1.4em;
      }
      .ttl {
        display: inline-block;
        min-width: 5.5em;
      }
    `,
  ];

  @property({ attribute: false }) steps: readonly Step[] = [];
  @property({ attribute: false }) now = 0;

  protected override render(): TemplateResult {
    const words = this.say(replayWords).key;
    const key = keyAt(this.steps, this.now);
    return html`
      <h3>${words.title}</h3>
      ${key === undefined ? html`<p class="quiet small">${words.unseen}</p>` : this.#key(key)}
    `;
  }

  #key(key: KeyNow): TemplateResult {
    const words = this.say(replayWords).key;
    const { name, queue, claims = {}, token } = key;
    const { command, none } = lookAt(this.steps);
    const line = html`<ol>
      ${queue.map((entry) => html`<li><code>${short(entry)}</code></li>`)}
    </ol>`;
    const claimed = Object.entries(claims).map(
      ([process, claim]) => html`<code>${short(process)} ${short(claim)}</code> `,
    );
    return html`
      <code>${command} ${name}</code>
      <dl class="figure">
        ${this.#fields(key, none)}
        ${fact(words.queue, queue.length === 0 ? words.emptyQueue : line)}
        ${claimed.length === 0 ? nothing : fact(words.claims, claimed)}
        ${token === undefined ? nothing : fact(words.token, html`<b>${token}</b>`)}
      </dl>
    `;
  }

  #fields({ fields, ttlMs }: KeyNow, none: string): TemplateResult | TemplateResult[] {
    const words = this.say(replayWords).key;
    if (fields === undefined)
      return fact('', html`<code>${none}</code>${this.say(colon)}${words.gone}`);
    const ttl =
      ttlMs === undefined
        ? html`<b class="harm">${words.forever}</b>`
        : html`<span class="ttl">${this.say(timelineWords).time(ttlMs)}</span>`;
    return [
      ...Object.entries(fields).map(([field, value]) =>
        fact(
          field === '' ? '' : html`<code>${short(field)}</code>`,
          html`<code>${short(value)}</code>`,
        ),
      ),
      fact(words.ttl, ttl),
    ];
  }
}

function fact(name: unknown, value: unknown): TemplateResult {
  return html`<dt>${name}</dt>
    <dd>${value}</dd>`;
}

/** Shortens a UUID to its first digits and the text after it. */
function short(text: string): string {
  return text
    .replace(/\b([0-9a-f]{6})[0-9a-f]{2}-[0-9a-f-]{27}/g, '$1…')
    .replace(/\b([0-9a-f]{6})[0-9a-f]{26}\b/g, '$1…');
}
