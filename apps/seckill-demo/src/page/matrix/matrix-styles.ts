import { css } from 'lit';

export const matrixStyles = css`
  .panel {
    padding: 12px 16px 16px;
  }
  table {
    width: 100%;
    min-width: 960px;
    table-layout: fixed;
    border-spacing: 0;
  }
  thead th:first-child {
    width: 216px;
  }
  thead th {
    font-size: 0.8125rem;
    font-weight: 500;
    color: var(--muted);
    text-align: start;
    vertical-align: bottom;
    white-space: pre-line;
    line-height: 1.3;
    padding: 4px 6px 10px;
  }
  tbody th {
    text-align: start;
    font-weight: 400;
    padding: 4px 14px 4px 6px;
  }
  tbody th code {
    display: block;
    font-weight: 600;
  }
  tbody th span {
    display: block;
    font-size: 0.75rem;
    line-height: 1.3;
  }
  tbody th a {
    float: inline-start;
    min-width: 22px;
    margin: 1px 8px 0 0;
    text-align: center;
    font-size: 0.8125rem;
    color: var(--accent);
    border: 1px solid var(--line);
    border-radius: 6px;
  }
  tbody tr + tr > * {
    border-top: 1px solid var(--line);
  }
  td {
    padding: 4px;
  }
  td button {
    width: 100%;
    min-height: 40px;
    padding: 4px 8px;
    text-align: start;
    font-size: 0.8125rem;
    line-height: 1.2;
    border-color: transparent;
    white-space: nowrap;
  }
  .right {
    color: var(--accent);
  }
  td .right {
    background: var(--accent-soft);
    color: var(--text);
  }
  td .harm {
    background: var(--harm-soft);
    color: var(--text);
    border-color: var(--harm);
  }
  td .none {
    background: transparent;
    color: var(--muted);
  }
  td .pending {
    background: transparent;
    border: 1px dashed var(--line);
    color: var(--muted);
  }
  td .running {
    border: 1px solid var(--accent);
    background: transparent;
  }
  td .right > span:first-child {
    color: var(--accent);
    font-weight: 700;
  }
  td .harm > span:first-child {
    color: var(--harm);
    font-weight: 700;
  }
  td button[aria-pressed='true'] {
    box-shadow: 0 0 0 2px var(--text);
  }
  .surprise {
    outline: 4px double var(--text);
    outline-offset: 1px;
  }
  @media (max-width: 700px) {
    .panel {
      padding: 8px 8px 8px 0;
    }
    table {
      min-width: 880px;
    }
    thead th:first-child {
      width: 122px;
    }
    tr > th:first-child {
      position: sticky;
      left: 0;
      z-index: 1;
      background: var(--panel);
      padding-inline: 12px 6px;
    }
    td button {
      padding-inline: 6px;
      white-space: normal;
    }
    tbody th span {
      display: none;
    }
    tbody th code {
      font-size: 0.8125rem;
    }
  }
  .legend {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 20px;
    margin-top: 10px;
  }
  @media (prefers-reduced-motion: no-preference) {
    td .running {
      animation: pulse 1s ease-in-out infinite alternate;
    }
    .surprise {
      animation: blink 0.7s steps(2, jump-none) 6;
    }
  }
  @keyframes pulse {
    from {
      background: transparent;
    }
    to {
      background: var(--accent-soft);
    }
  }
  @keyframes blink {
    from {
      opacity: 1;
    }
    to {
      opacity: 0.35;
    }
  }
`;
