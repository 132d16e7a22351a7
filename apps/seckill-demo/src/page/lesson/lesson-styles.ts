import { css } from 'lit';

export const lessonStyles = css`
  :host {
    margin-bottom: -56px;
  }
  h1 {
    margin: 12px 0 8px;
    font-size: clamp(1.375rem, 2.6vw, 1.75rem);
    font-weight: 700;
    letter-spacing: -0.015em;
    line-height: 1.2;
  }
  h1 .quiet {
    font-weight: 500;
  }
  .columns {
    display: grid;
    grid-template-columns: minmax(0, 1fr) minmax(0, 1.1fr);
    gap: 24px;
    align-items: start;
  }
  p {
    margin-bottom: 8px;
  }
  .aside {
    margin-inline-end: 16px;
  }
  blockquote {
    margin: 0 0 8px;
    padding-inline-start: 10px;
    border-inline-start: 3px solid var(--line);
  }
  blockquote cite {
    font-style: normal;
    margin-inline-start: 8px;
  }
  .panel {
    padding: 14px 16px;
  }
  .controls {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 12px;
    margin-bottom: 10px;
  }
  ol {
    min-height: 11.5em;
    margin: 8px 0 0;
    padding: 0;
    list-style: none;
    font-size: 0.875rem;
    line-height: 1.45;
  }
  ol li {
    color: var(--muted);
  }
  ol li:last-child {
    color: var(--text);
    font-weight: 600;
  }
  ol .decisive,
  ol .decisive:last-child {
    color: var(--harm);
    font-weight: 600;
  }
  ol .decisive.good,
  ol .decisive.good:last-child {
    color: var(--accent);
  }
  a {
    color: var(--accent);
  }
  .question {
    font-size: 0.9375rem;
    margin: 8px 0 0;
  }
  .question summary {
    color: var(--text);
    width: auto;
  }
  .question p {
    margin: 6px 0 0;
  }
  .ways {
    display: flex;
    flex-wrap: wrap;
    gap: 8px 20px;
    justify-content: flex-end;
    margin-top: 12px;
  }
  .ways .main {
    padding: 7px 16px;
    border-radius: 8px;
    background: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
    text-decoration: none;
  }
  @media (max-width: 900px) {
    .columns {
      grid-template-columns: minmax(0, 1fr);
    }
    .ways {
      justify-content: flex-start;
    }
  }
`;
