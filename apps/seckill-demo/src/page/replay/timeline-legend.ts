import { css, html } from 'lit';
import type { TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { ArenaElement } from '../arena-element.js';
import { look } from '../look.js';
import { timelineWords } from '../words/timeline-words.js';

/** The meaning of the shapes in the timeline. */
@customElement('timeline-legend')
export class TimelineLegend extends ArenaElement {
  static override readonly styles = [
    look,
    css`
      ul {
        display: flex;
        flex-wrap: wrap;
        gap: 4px 18px;
        margin: 0;
        padding: 0;
        list-style: none;
        font-size: 0.8125rem;
        color: var(--muted);
      }
      i {
        display: inline-block;
        width: 22px;
        height: 11px;
        margin-inline-end: 6px;
        border: 1px solid var(--accent);
      }
      .wait {
        height: 0;
        border: 0;
        border-top: 2px dotted var(--muted);
        vertical-align: 4px;
      }
      .bar {
        background: var(--accent);
      }
      .tail {
        background: var(--accent-soft);
      }
      .suspect {
        background: repeating-linear-gradient(135deg, var(--accent) 0 2px, transparent 2px 5px);
      }
      .tick {
        width: 2px;
        height: 14px;
        border: 0;
        vertical-align: -2px;
        background: var(--text);
      }
      .overlap {
        background: var(--harm);
        border-color: var(--harm);
      }
      .gap {
        border-color: var(--muted);
        background: repeating-linear-gradient(135deg, var(--muted) 0 1px, var(--line) 1px 6px);
      }
    `,
  ];

  protected override render(): TemplateResult {
    const { legend } = this.say(timelineWords);
    const shapes = ['wait', 'bar', 'tail', 'suspect', 'tick', 'overlap', 'gap'] as const;
    return html`<ul>
      ${shapes.map((shape) => html`<li><i class=${shape} aria-hidden="true"></i>${legend[shape]}</li>`)}
    </ul>`;
  }
}
