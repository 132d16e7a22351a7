import { css } from 'lit';

export const laneStyles = css`
  .panel {
    transition: border-color 0.2s;
  }
  .oversold {
    border-color: var(--harm);
    box-shadow: inset 0 0 0 1px var(--harm);
  }
  header {
    display: flex;
    flex-wrap: wrap;
    justify-content: space-between;
    align-items: baseline;
    gap: 0 12px;
  }
  h2 {
    margin: 0;
    font-size: 1.0625rem;
  }
  header code {
    font-size: 0.8125rem;
    font-weight: 400;
  }
  .count {
    margin: 4px 0 10px;
    font-size: 1.25rem;
    line-height: 1;
  }
  .count b {
    font-size: 2.75rem;
    font-weight: 700;
    letter-spacing: -0.02em;
  }
  canvas {
    height: 210px;
  }
  .verdict {
    margin: 12px 0 0;
    font-size: 1.0625rem;
    min-height: 1.5em;
  }
  .bar {
    display: flex;
    height: 40px;
    border: 1px solid var(--line);
    border-radius: 6px;
    overflow: hidden;
  }
  .bar i {
    background: var(--accent);
  }
  .bar i.over {
    background: repeating-linear-gradient(135deg, var(--harm) 0 6px, var(--harm-soft) 6px 9px);
  }
`;
