import { css } from 'lit';

/** The style that all parts of the page share. The colours are variables of the document. */
export const look = css`
  :host {
    display: block;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  h2 {
    margin: 0 0 6px;
    font-size: 1.375rem;
    font-weight: 650;
    letter-spacing: -0.01em;
    line-height: 1.25;
  }
  h3 {
    margin: 0 0 4px;
    font-size: 1rem;
    font-weight: 650;
  }
  p {
    margin: 0 0 12px;
    max-width: 68ch;
    text-wrap: pretty;
  }
  .quiet {
    color: var(--muted);
  }
  .small {
    font-size: 0.8125rem;
  }
  .panel {
    background: var(--panel);
    border: 1px solid var(--line);
    border-radius: 12px;
    padding: 20px;
  }
  .figure {
    font-variant-numeric: tabular-nums;
  }
  .harm {
    color: var(--harm);
  }
  .right {
    color: var(--accent);
  }
  button,
  select,
  input {
    font: inherit;
    color: var(--text);
    background: var(--panel);
    border: 1px solid var(--edge);
    border-radius: 8px;
    min-height: 34px;
    padding: 4px 12px;
  }
  button {
    cursor: pointer;
  }
  button:hover:not([disabled], [aria-disabled='true']) {
    border-color: var(--accent);
  }
  button.main {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
  }
  button[aria-pressed='true'] {
    border-color: var(--accent);
    box-shadow: inset 0 0 0 1px var(--accent);
  }
  button[disabled],
  button[aria-disabled='true'] {
    cursor: not-allowed;
    color: var(--muted);
    background: transparent;
    border-style: dashed;
  }
  :focus-visible {
    outline: 3px solid var(--accent);
    outline-offset: 2px;
  }
  canvas {
    display: block;
    width: 100%;
  }
  table {
    border-collapse: collapse;
    font-variant-numeric: tabular-nums;
  }
  details {
    margin-top: 10px;
    font-size: 0.8125rem;
  }
  summary {
    cursor: pointer;
    color: var(--muted);
    width: fit-content;
  }
  details table {
    margin-top: 8px;
  }
  details th,
  details td {
    padding: 3px 14px 3px 0;
    text-align: start;
    border-bottom: 1px solid var(--line);
    font-weight: 400;
  }
  details thead th {
    color: var(--muted);
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .scroll {
    position: relative;
    overflow-x: auto;
  }
`;
