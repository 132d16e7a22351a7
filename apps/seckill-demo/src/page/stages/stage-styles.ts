import { css } from 'lit';

export const stageStyles = css`
  article,
  .half {
    height: 100%;
  }
  header {
    display: flex;
    gap: 8px;
    justify-content: space-between;
    align-items: start;
  }
  header button {
    flex: none;
    min-height: 28px;
    padding: 0 8px;
    font-size: 0.75rem;
  }
  .halves {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 200px), 1fr));
    gap: 12px;
  }
  .half {
    display: flex;
    flex-direction: column;
    padding: 10px 12px 12px;
    border: 1px solid var(--line);
    border-radius: 10px;
    min-width: 0;
  }
  .half.harm {
    border-color: var(--harm);
    color: var(--text);
  }
  .half.right {
    color: var(--text);
  }
  .half.absent {
    border-style: dashed;
  }
  h4 {
    margin: 0 0 6px;
    font-size: 0.8125rem;
    font-weight: 600;
    color: var(--muted);
  }
  figure {
    margin: 0;
  }
  figcaption {
    margin-top: 6px;
    color: var(--muted);
  }
  svg {
    display: block;
    width: 100%;
    max-width: 320px;
    height: auto;
  }
  .verdict {
    display: flex;
    flex-wrap: wrap;
    gap: 0 10px;
    margin: auto 0 0;
    padding-top: 8px;
    font-size: 0.875rem;
  }
  .half button {
    align-self: start;
    min-height: 28px;
    margin-top: 8px;
    padding: 0 8px;
    font-size: 0.75rem;
  }
  .good {
    fill: var(--accent);
  }
  .harm:not(b, section) {
    fill: var(--harm);
  }
  .dot {
    fill: var(--muted);
  }
  .hollow {
    fill: none;
    stroke: var(--edge);
    stroke-width: 1.5;
  }
  .good-frame {
    fill: var(--accent-soft);
    stroke: var(--accent);
    stroke-width: 1.5;
  }
  .harm-frame {
    fill: var(--harm-soft);
    stroke: var(--harm);
    stroke-width: 1.5;
  }
  .door {
    fill: var(--accent-soft);
    stroke: var(--accent);
    stroke-width: 1.5;
  }
  .line {
    fill: none;
    stroke: var(--accent);
    stroke-width: 1.5;
  }
  .harm-line {
    fill: none;
    stroke: var(--harm);
    stroke-width: 1.5;
  }
  .dashed {
    stroke-dasharray: 5 4;
  }
  .head {
    fill: var(--accent);
  }
  .harm-head {
    fill: var(--harm);
  }
  text {
    font: 13px var(--sans);
    font-variant-numeric: tabular-nums;
    text-anchor: middle;
    fill: var(--text);
  }
  text.sign {
    font-size: 12px;
    font-weight: 700;
    fill: var(--on-accent);
  }
  text.figure,
  text.big {
    font-size: 22px;
    font-weight: 700;
  }
  text.harm-text {
    fill: var(--harm);
  }
  text.good-text {
    fill: var(--accent);
  }
`;
