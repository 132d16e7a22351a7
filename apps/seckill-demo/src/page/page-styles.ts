import { css } from 'lit';

export const pageStyles = css`
  :host {
    max-width: 1240px;
    margin: 0 auto;
    padding: 0 clamp(14px, 3vw, 32px) 80px;
  }
  .ways {
    display: flex;
    flex-wrap: wrap;
    gap: 8px 24px;
    margin: 14px 0 0;
  }
  .ways a {
    color: var(--accent);
  }
  .ways .main {
    font-weight: 650;
  }
  h1 {
    margin: 16px 0 4px;
    font-size: clamp(1.625rem, 3.4vw, 2.375rem);
    font-weight: 720;
    letter-spacing: -0.02em;
    line-height: 1.15;
    text-wrap: balance;
  }
  section {
    margin-bottom: 56px;
  }
  h1 + section:not(#duel) {
    margin-top: 20px;
  }
  #duel {
    scroll-margin-top: 90px;
    margin-bottom: 32px;
  }
  #duel > p {
    max-width: none;
  }
`;
