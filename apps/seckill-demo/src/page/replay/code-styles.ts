import { css } from 'lit';

export const codeStyles = css`
  pre {
    margin: 8px 0 0;
    padding: 12px 0;
    overflow-x: auto;
    font:
      0.75rem/1.6 ui-monospace,
      'SF Mono',
      Menlo,
      Consolas,
      monospace;
    border: 1px solid var(--line);
    border-radius: 8px;
  }
  .line {
    display: block;
    padding: 0 12px 0 0;
    min-width: max-content;
  }
  .line i {
    display: inline-block;
    width: 4.2em;
    padding-inline-end: 1em;
    text-align: end;
    font-style: normal;
    color: var(--muted);
    user-select: none;
  }
  .blamed {
    background: var(--harm-soft);
    box-shadow: inset 4px 0 0 var(--harm);
  }
  .praised {
    background: var(--accent-soft);
    box-shadow: inset 4px 0 0 var(--accent);
  }
  .why {
    display: block;
    padding: 4px 12px 6px 4.2em;
    font-family: var(--sans);
    font-weight: 600;
    white-space: normal;
    max-width: 520px;
  }
`;
